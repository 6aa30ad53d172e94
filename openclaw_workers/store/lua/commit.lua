--[[
  End a turn: append its last entries, settle its messages, record the run, and release or reschedule the session.

  KEYS[1]  session row       hash
  KEYS[2]  session ctl       hash
  KEYS[3]  inbox             zset
  KEYS[4]  bound             zset
  KEYS[5]  receipts          hash
  KEYS[6]  transcript        list
  KEYS[7]  events            stream
  KEYS[8]  due               zset
  KEYS[9]  running           zset
  KEYS[10] run               hash
  KEYS[11] next run          hash
  KEYS[12] runs              zset
  KEYS[13] suspects          hash
  KEYS[14] lane slots        zset
  KEYS[15] lane line         zset
  KEYS[16] archive to fill   list
  KEYS[17] archives          hash
  KEYS[18] the lane's queue  list

  ARGV[1]  session key
  ARGV[2]  lease
  ARGV[3]  run id
  ARGV[4]  worker id
  ARGV[5]  outcome, JSON: state, reason, text, error, messages (how the bound messages settle), model, usage,
           context_tokens, reset (a new session begins), row (fields to set)
  ARGV[6]  run id to open if messages wait
  ARGV[7]  lane
  ARGV[8]  agent id
  ARGV[9]  lane cap, 0 for none
  ARGV[10] how long a granted slot is kept, milliseconds
  ARGV[11] milliseconds until a wake-up counts as lost
  ARGV[12] session id if a new session begins
  ARGV[13] archive id if a new session begins
  ARGV[14] wake-up for the next run, or "" if the caller publishes it
  ARGV[15] how many entries follow, then the entries (JSON) from ARGV[16] on

  Returns  {"committed", next run to wake or "", milliseconds until it may start, granted: run, session, run …}
           {"lost"}

  Invariant
    Entries, receipts, run record and the session's next state change together or not at all. A run is committed
    once: the second call with the same lease gets the first one's answer, any other lease is refused.
]]
local row, ctl, inbox, bound, receipts, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local events, due, running, run_key, next_key = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local runs, suspects, slots, line, archive, archives = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local queue = KEYS[18]
local session, lease, run, worker, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local next_run, lane, agent, cap = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local grant_ms, rewake_ms = tonumber(ARGV[10]), tonumber(ARGV[11])
local new_session_id, archive_id, wake, count = ARGV[12], ARGV[13], ARGV[14], tonumber(ARGV[15])
local first_entry = 16
local now = now_ms()

if redis.call("HGET", ctl, "lease") ~= lease then
  if redis.call("HGET", run_key, "committed_by") == lease then
    local c = redis.call("HMGET", ctl, "state", "run", "ready_at")
    if c[1] == "queued" then
      return { "committed", c[2], math.max(0, (tonumber(c[3]) or 0) - now), {} }
    end
    return { "committed", "", 0, {} }
  end
  return { "lost" }
end

if count > 0 then
  redis.call("RPUSH", log, unpack(ARGV, first_entry, first_entry + count - 1))
end
local covers, by_person = settle_messages(bound, receipts, "+inf", outcome.messages, run, now, outcome.reason)
local spent = add_usage(run_key, outcome.usage)

local total = spent.input + spent.output + spent.cacheRead + spent.cacheWrite
local r = redis.call("HMGET", row, "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "totalTokens", "turns",
  "lastInteractionAt")
redis.call("HSET", row, "updatedAt", now, "contextTokens", outcome.context_tokens,
  "inputTokens", (tonumber(r[1]) or 0) + spent.input, "outputTokens", (tonumber(r[2]) or 0) + spent.output,
  "cacheRead", (tonumber(r[3]) or 0) + spent.cacheRead, "cacheWrite", (tonumber(r[4]) or 0) + spent.cacheWrite,
  "totalTokens", (tonumber(r[5]) or 0) + total, "turns", (tonumber(r[6]) or 0) + 1,
  "lastInteractionAt", by_person and now or r[7] or now)

redis.call("HSET", run_key, "committed_by", lease, "text", outcome.text, "error", outcome.error,
  "model", outcome.model, "covers", #covers > 0 and cjson.encode(covers) or "[]")
end_run(run_key, outcome.state, outcome.reason, now)
event(events, ctl, now, "run.ended", {
  run = run, state = outcome.state, reason = outcome.reason, text = outcome.text, error = outcome.error,
  covers = covers, usage = spent,
})
if outcome.reset then
  cut_transcript(row, log, archive, archives, due, archive_id, new_session_id, now, "command")
  event(events, ctl, now, "session.reset", { reason = "command", sessionId = new_session_id })
end
for field, value in pairs(outcome.row) do
  redis.call("HSET", row, field, value)
end

redis.call("HDEL", ctl, "lease", "lease_until", "owner")
redis.call("ZREM", running, session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
local granted = {}
if cap > 0 then
  redis.call("ZREM", slots, session)
  granted = grant(slots, line, due, cap, now, grant_ms)
end

local waiting = redis.call("ZRANGE", inbox, 0, 0)[1]
if not waiting then
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. session)
  return { "committed", "", 0, granted }
end
local ready_at, head = 0, read_message(waiting)
if head.mode == "collect" and head.kind == "user" then
  local last = read_message(redis.call("ZRANGE", inbox, -1, -1)[1])
  ready_at = quiet_at(head, last.accepted_at, last.debounce_ms)
end
open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, ready_at, rewake_ms)
if ready_at <= now and push_wake(queue, wake) then
  next_run = ""
end
return { "committed", next_run, math.max(0, ready_at - now), granted }
