--[[
  Stop a session's current run and cancel what waits behind it, or stop one named run.

  includes  clock, hashes, dedupe, events, messages, lanes, inbox, runs, tree

  keys
    ctl         hash    session ctl
    inbox       zset    inbox
    receipts    hash    receipts
    events      stream  events
    due         zset    due
    run_key     hash    current run
    slots       zset    lane slots
    line        zset    lane line
    next_key    hash    next run
    runs        zset    runs
    live        zset    unsettled children of the session
    reaps       hash    reaps
    next_batch  hash    batch of the next run, if it is a child's
    next_open   set     its open runs
    bound       zset    bound
    dedupe      hash    what the message that gave this order led to
  args
    session    text    session key
    run        text    the run the caller believes is current
    all        flag    1 to cancel waiting messages too
    reason     text    reason
    cap        number  lane cap, 0 for none
    grant_ms   number  how long a granted slot is kept, milliseconds
    next_run   text    run id to open if messages are left
    lane       text    lane
    agent      text    agent id
    rewake_ms  number  milliseconds until a wake-up counts as lost
    most       number  most messages collected into one turn
    whole      flag    1 to stop all that the session has spawned, 0 for what the run has
    partial    text    what there is of its result
    given_at   number  last sequence number of the messages to cancel
    keep_s     number  seconds for which the message that gave this order may come again, 0 if none gave it

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
local now = now_ms()

local first = first_reply(dedupe, keep_s)
if first then
  return first
end
local c = fields(ctl, "state", "run", "seq", "resumed")
c.state = c.state or "idle"
local is_idle = c.state == "idle"
local children = redis.call("ZRANGE", live, 0, -1)
if whole and (is_idle or c.run == run) then
  reap(reaps, due, live, session, now, reason)
elseif run ~= "" then
  reap(reaps, due, live, session, now, reason, run)
end
if is_idle then
  return keep_reply(dedupe, keep_s, { "idle", "", children })
end
local begun = c.state == "running" or c.resumed == "1"
if c.run ~= run then
  -- Not kept: the caller looks whether this run answers what was there when the stop was given.
  return { "other", c.run, children, redis.call("ZRANGE", begun and bound or inbox, 0, 0, "WITHSCORES")[2] or 0 }
end
local upto = math.min(tonumber(c.seq) or 0, given_at)
if not all then
  -- One run alone: what it answers, or would have answered, and nothing that waits for a later one.
  local entries = begun and {} or next_messages(inbox, most)
  upto = #entries > 0 and entries[#entries].seq or 0
end
local cancelled = settle_messages(inbox, receipts, upto, "cancelled", nil, now, reason, all, true)
if begun then
  redis.call("HSET", ctl, "abort", run, "abort_reason", reason)
  if c.state == "parked" then
    unpark(ctl, due, session, now, rewake_ms)
  end
  return keep_reply(dedupe, keep_s, { "stopping", run, children, #cancelled, c.state == "running" and 1 or 0 })
end
leave_lane(slots, line, run, session)
if redis.call("HEXISTS", run_key, "attempts") == 0 then
  redis.call("HSET", run_key, "covers", list_of(cancelled))
end
redis.call("HSET", run_key, "error", "the turn was stopped (" .. reason .. ")", "partial", partial)
end_run(run_key, "killed", reason, now)
event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason, raw = { covers = list_of(cancelled) } })
leave_to_waiter(run_key, run, cancelled)
local settled = settle_child(run_key, session, inbox, receipts, now, due, live, reaps)
if redis.call("ZCARD", inbox) > 0 then
  open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, 0, rewake_ms)
  follow_up(run_key, next_key, next_run, next_batch, next_open, now)
else
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. session)
  next_run = ""
end
local granted = grant(slots, line, due, cap, now, grant_ms)
return keep_reply(dedupe, keep_s, { "stopped", run, children, #cancelled, granted, next_run, settled })
