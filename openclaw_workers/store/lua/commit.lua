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
  KEYS[16] what the key of an archive begins with   list
  KEYS[17] archives          hash
  KEYS[18] the lane's queue  list
  KEYS[19] unsettled children of the session   zset
  KEYS[20] reaps             hash
  KEYS[21] who waits for answers of the session  hash
  KEYS[22] batch of the next run, if it is a child's   hash
  KEYS[23] its open runs     set
  KEYS[24] answers to be passed on   hash
  KEYS[25] threads           hash
  KEYS[26] sessions          zset
  KEYS[27] ledger of the day   hash
  KEYS[28] ledger of the day before   hash
  KEYS[29] for each budget two, from KEYS[29] on: what is spent and what is set aside   hashes

  ARGV[1]  session key
  ARGV[2]  lease
  ARGV[3]  run id
  ARGV[4]  worker id
  ARGV[5]  outcome, JSON: state, reason, text, error, messages (how the bound messages settle), model,
           worked (seconds that tools took since the last step), context_tokens, reset (a new session begins), row (fields to set)
  ARGV[6]  run id to open if messages wait
  ARGV[7]  lane
  ARGV[8]  agent id
  ARGV[9]  lane cap, 0 for none
  ARGV[10] how long a granted slot is kept, milliseconds
  ARGV[11] milliseconds until a wake-up counts as lost
  ARGV[12] session id if a new session begins
  ARGV[13] wake-up for the next run, or "" if the caller publishes it
  ARGV[14] what to book, JSON: calls, a list of {id, entry, amounts, usage}, and attempts, a list of {id, attempt}
  ARGV[15] how many entries follow, then the entries (JSON) from ARGV[16] on

  Returns  {"committed", next run to wake or "", milliseconds until it may start, granted: run, session, run …,
            "ended" | "unsettled" | "settled" | "again" | "parked", sessions that wait for these answers or will be told}
           {"lost"}

  Invariant
    Entries, receipts, run record and the session's next state change together or not at all. A run is committed
    once: the second call with the same lease gets the first one's answer, any other lease is refused.
    A child's run does not end while its inbox holds something or what it spawned is unfinished (rule 2): it goes on,
    or parks, holding nothing. The answer to another session's message is passed on by whoever looks first: that it is
    due and that it was given are one moment. A child's follow-up run that its parent waited for is not announced too.
]]
local row, ctl, inbox, bound, receipts, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local events, due, running, run_key, next_key = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local runs, suspects, slots, line, archive_prefix, archives = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local queue, live, reaps, waiters = KEYS[18], KEYS[19], KEYS[20], KEYS[21]
local next_batch, next_open, relays = KEYS[22], KEYS[23], KEYS[24]
local session, lease, run, worker, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local next_run, lane, agent, cap = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local grant_ms, rewake_ms = tonumber(ARGV[10]), tonumber(ARGV[11])
local new_session_id, wake, count = ARGV[12], ARGV[13], tonumber(ARGV[15])
local first_entry, first_budget = 16, 29
local now = now_ms()

local owns = redis.call("HGET", ctl, "lease") == lease
book(KEYS[27], KEYS[28], ARGV[14], run, run_key, owns, KEYS, first_budget)
if not owns then
  if redis.call("HGET", run_key, "committed_by") == lease then
    local c = redis.call("HMGET", ctl, "state", "run", "ready_at")
    if c[1] == "queued" then
      return { "committed", c[2], math.max(0, (tonumber(c[3]) or 0) - now), {}, c[2] == run and "again" or "ended", {} }
    end
    local r = redis.call("HMGET", run_key, "batch", "settled_at", "state")
    local how = not r[1] and "ended" or r[2] and "settled" or is_final(r[3]) and "unsettled" or "parked"
    return { "committed", "", 0, {}, how, {} }
  end
  return { "lost" }
end

unreserve(run, KEYS, first_budget)
charge_work(outcome.worked, KEYS, first_budget)
if count > 0 then
  redis.call("RPUSH", log, unpack(ARGV, first_entry, first_entry + count - 1))
end
local covers, by_person, exchanges = settle_messages(bound, receipts, "+inf", outcome.messages, run, now, outcome.reason)
local spent = usage_of(run_key)

local is_child = redis.call("HEXISTS", run_key, "batch") == 1
local new = is_child and unbooked(run_key, spent) or spent
local total = new.input + new.output + new.cacheRead + new.cacheWrite
local r = redis.call("HMGET", row, "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "totalTokens", "turns",
  "lastInteractionAt")
redis.call("HSET", row, "updatedAt", now, "contextTokens", outcome.context_tokens,
  "inputTokens", (tonumber(r[1]) or 0) + new.input, "outputTokens", (tonumber(r[2]) or 0) + new.output,
  "cacheRead", (tonumber(r[3]) or 0) + new.cacheRead, "cacheWrite", (tonumber(r[4]) or 0) + new.cacheWrite,
  "totalTokens", (tonumber(r[5]) or 0) + total, "turns", (tonumber(r[6]) or 0) + 1,
  "lastInteractionAt", by_person and now or r[7] or now)
touch(KEYS[26], session, now)

local answered = heard_by(waiters, covers, due, now)
for _, entry in ipairs(outcome.state == "ok" and exchanges or {}) do
  redis.call("HSET", relays, entry.id, cjson.encode({
    session = session, session_id = redis.call("HGET", row, "sessionId"), run = run, text = outcome.text,
    metadata = entry.metadata,
  }))
  redis.call("ZADD", due, now, "relay|" .. entry.id)
  answered[#answered + 1] = entry.metadata.from
end

if outcome.reset then
  drop_announces(inbox, log, receipts, events, ctl, now)
end
local again = is_child and outcome.state == "ok" and redis.call("ZCARD", inbox) > 0
local parked = is_child and outcome.state == "ok" and not again and open_batches(run_key) > 0
if parked and redis.call("HGET", ctl, "abort") == run then
  again, parked = true, false -- a stop came during its last word: whoever takes it next ends it
end
if is_child and not again and not parked then
  leave_to_waiter(run_key, run, covers)
end
end_wait(ctl, run_key, due, now)
local said, cut = outcome.text, outcome.reason == "length" and 1 or 0
if is_child and said == "" then
  local before = redis.call("HMGET", run_key, "text", "cut") -- an empty last word leaves the one before
  said, cut = before[1] or "", before[2] or 0
end
redis.call("HSET", run_key, "committed_by", lease, "text", said, "error", outcome.error, "partial", outcome.partial or "",
  "model", outcome.model, "cut", cut)
if is_child then
  add_covers(run_key, covers)
else
  redis.call("HSET", run_key, "covers", list_of(covers))
end
local how = is_child and "unsettled" or "ended"
if again or parked then
  redis.call("HSET", run_key, "state", again and "queued" or "parked")
  event(events, ctl, now, "run.parked", { run = run, text = outcome.text, batches = open_batches(run_key) })
  how = again and "again" or "parked"
else
  end_run(run_key, outcome.state, outcome.reason, now)
  event(events, ctl, now, "run.ended", {
    run = run, state = outcome.state, reason = outcome.reason, text = said, error = outcome.error,
    usage = spent, raw = { covers = list_of(covers) },
  })
  if settle_child(run_key, session, inbox, receipts, now, due, live, reaps) == 1 then
    how = "settled"
  end
end
if outcome.reset then
  reap(reaps, due, live, session, now, "session-reset")
  unbind_thread(row, KEYS[25])
  cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "command")
  event(events, ctl, now, "session.reset", { reason = "command", sessionId = new_session_id })
end
set_fields(row, outcome.row)

redis.call("HDEL", ctl, "lease", "lease_until", "owner")
redis.call("ZREM", running, session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
-- Also without a cap: the slot may have been granted by a worker that was still configured with one.
redis.call("ZREM", slots, session)
local granted = grant(slots, line, due, cap, now, grant_ms)

if parked then
  redis.call("HSET", ctl, "state", "parked", "resumed", 0, "how", "unpark", "started", "", "ticket", "", "stalls", 0)
  redis.call("ZADD", due, redis.call("HGET", run_key, "deadline_at"), "turn|" .. session)
  return { "committed", "", 0, granted, how, answered }
end
if again then
  redis.call("HSET", ctl, "state", "queued", "resumed", 0, "how", "unpark", "started", "", "ticket", "", "ready_at", 0,
    "wakes", 1, "woken_at", now, "stalls", 0)
  redis.call("ZADD", due, now + rewake_ms, "turn|" .. session)
  return { "committed", run, 0, granted, how, answered }
end
local waiting = redis.call("ZRANGE", inbox, 0, 0)[1]
if not waiting then
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. session)
  return { "committed", "", 0, granted, how, answered }
end
local ready_at, head = 0, read_message(waiting)
if head.mode == "collect" and head.kind == "user" then
  local last = read_message(redis.call("ZRANGE", inbox, -1, -1)[1])
  ready_at = quiet_at(head, math.min(last.accepted_at, now), last.debounce_ms)
end
open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, ready_at, rewake_ms)
follow_up(run_key, next_key, next_run, next_batch, next_open, now)
if ready_at <= now and push_wake(queue, wake) then
  next_run = ""
end
return { "committed", next_run, math.max(0, ready_at - now), granted, how, answered }
