--[[
  Stop a session's current run and cancel what waits behind it, or stop one named run.

  KEYS[1]  session ctl       hash
  KEYS[2]  inbox             zset
  KEYS[3]  receipts          hash
  KEYS[4]  events            stream
  KEYS[5]  due               zset
  KEYS[6]  current run       hash
  KEYS[7]  lane slots        zset
  KEYS[8]  lane line         zset
  KEYS[9]  next run          hash
  KEYS[10] runs              zset
  KEYS[11] unsettled children of the session   zset
  KEYS[12] reaps             hash
  KEYS[13] batch of the next run, if it is a child's   hash
  KEYS[14] its open runs     set
  KEYS[15] bound             zset
  KEYS[16] what the message that gave this order led to   hash

  ARGV[1]  session key
  ARGV[2]  the run the caller believes is current
  ARGV[3]  1 to cancel waiting messages too
  ARGV[4]  reason
  ARGV[5]  lane cap, 0 for none
  ARGV[6]  how long a granted slot is kept, milliseconds
  ARGV[7]  run id to open if messages are left
  ARGV[8]  lane
  ARGV[9]  agent id
  ARGV[10] milliseconds until a wake-up counts as lost
  ARGV[11] most messages collected into one turn
  ARGV[12] 1 to stop all that the session has spawned, 0 for what the run has
  ARGV[13] what there is of its result
  ARGV[14] last sequence number of the messages to cancel
  ARGV[15] seconds for which the message that gave this order may come again, 0 if none gave it

  Returns  {"stopping", run, children, messages cancelled, owned 0|1}  the owner, or the next one, will end the run
           {"stopped", run, children, messages cancelled, granted, next run or "", settled 0|1}  nobody carried it: it is over
           {"idle", "", children}   nothing is to be stopped but what was spawned
           {"other", current run, children, sequence number of the first message that it answers}   likewise
           children: the unsettled ones of the session, whichever of its runs spawned them

  Invariant
    A stop names one run and messages up to one sequence number; it can never hit a later run (rule 11), nor what other
    runs of the session have spawned. A message that orders it and comes again gets the first reply, and stops nothing.
    Commands that wait keep their turn. What was spawned is to be stopped after the
    node is marked itself, so that it cannot spawn more meanwhile (rule 12); also if the run that did so is over.
]]
local ctl, inbox, receipts, events, due, run_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local slots, line, next_key, runs = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local live, reaps = KEYS[11], KEYS[12]
local session, run, all, reason = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4]
local cap, grant_ms, next_run, lane, agent = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9]
local rewake_ms, most, whole = tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12] == "1"
local given_at, keep_s = tonumber(ARGV[14]), tonumber(ARGV[15])
local now = now_ms()

local first = first_reply(KEYS[16], keep_s)
if first then
  return first
end
local c = redis.call("HMGET", ctl, "state", "run", "seq", "resumed")
c[1] = c[1] or "idle"
local is_idle = c[1] == "idle"
local children = redis.call("ZRANGE", live, 0, -1)
if whole and (is_idle or c[2] == run) then
  reap(reaps, due, live, session, now, reason)
elseif run ~= "" then
  reap(reaps, due, live, session, now, reason, run)
end
if is_idle then
  return keep_reply(KEYS[16], keep_s, { "idle", "", children })
end
local begun = c[1] == "running" or c[4] == "1"
if c[2] ~= run then
  -- Not kept: the caller looks whether this run answers what was there when the stop was given.
  return { "other", c[2], children, redis.call("ZRANGE", begun and KEYS[15] or inbox, 0, 0, "WITHSCORES")[2] or 0 }
end
local upto = math.min(tonumber(c[3]) or 0, given_at)
if not all then
  -- One run alone: what it answers, or would have answered, and nothing that waits for a later one.
  local entries = begun and {} or next_messages(inbox, most)
  upto = #entries > 0 and entries[#entries].seq or 0
end
local cancelled = settle_messages(inbox, receipts, upto, "cancelled", nil, now, reason, all, true)
if begun then
  redis.call("HSET", ctl, "abort", run, "abort_reason", reason)
  if c[1] == "parked" then
    unpark(ctl, due, session, now, rewake_ms)
  end
  return keep_reply(KEYS[16], keep_s, { "stopping", run, children, #cancelled, c[1] == "running" and 1 or 0 })
end
redis.call("ZREM", line, run .. " " .. session)
redis.call("ZREM", slots, session)
if redis.call("HEXISTS", run_key, "attempts") == 0 then
  redis.call("HSET", run_key, "covers", list_of(cancelled))
end
redis.call("HSET", run_key, "error", "the turn was stopped (" .. reason .. ")", "partial", ARGV[13])
end_run(run_key, "killed", reason, now)
event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason, raw = { covers = list_of(cancelled) } })
leave_to_waiter(run_key, run, cancelled)
local settled = settle_child(run_key, session, inbox, receipts, now, due, live, reaps)
if redis.call("ZCARD", inbox) > 0 then
  open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, 0, rewake_ms)
  follow_up(run_key, next_key, next_run, KEYS[13], KEYS[14], now)
else
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. session)
  next_run = ""
end
local granted = grant(slots, line, due, cap, now, grant_ms)
return keep_reply(KEYS[16], keep_s, { "stopped", run, children, #cancelled, granted, next_run, settled })
