--[[
  Stop the current run of a session and cancel what waits behind it, or stop one named run.

  includes  clock, hashes, dedupe, events, messages, lanes, inbox, runs, tree, outgoing

  keys
    ctl         hash    session control record
    inbox       zset    waiting messages
    receipts    hash    message id -> receipt
    events      stream  events for viewers
    due         zset    index of due items
    run_key     hash    current run
    slots       zset    slots of the lane
    line        zset    line for a slot of the lane
    next_key    hash    run to open
    runs        zset    index of runs
    live        zset    unsettled children of the session
    stop_orders hash    orders to stop children
    next_batch  hash    batch of the run to open, if it is a child's
    next_open   set     unsettled runs of that batch
    bound       zset    messages that the current run answers
    dedupe      hash    reply to the first delivery of the message
    row         hash    session row
    outgoing    stream  new messages to chats
  args
    session    text    session key
    run        text    run that the caller believes is current
    all        flag    whether to cancel waiting messages too
    reason     text    reason
    cap        number  cap of the lane, 0 for none
    grant_ms   number  how long a granted slot is kept
    next_run   text    run id to open if messages are left
    lane       text    lane
    agent      text    agent id
    rewake_ms  number  milliseconds after which an unanswered wake-up counts as lost
    most       number  most messages that one turn collects
    whole      flag    whether to stop all children of the session, or only those of the run
    partial    text    what the run had written so far
    given_at   number  last sequence number of the messages to cancel
    keep_s     number  seconds in which the channel may deliver the message again; 0 if it never does
    delivery   json    what goes to the chats of the cancelled messages: policies (by channel that pushes), messages

  Returns  {"stopping", run, children, messages cancelled, owned 0|1}   the owner, or the next one, will end the run
           {"stopped", run, children, messages cancelled, granted, next run or "", settled 0|1}   it has ended
           {"idle", "", children}   there is nothing to stop but children
           {"other", current run, children, sequence number of the first message that it answers}   likewise
           children: the unsettled children of the session, whichever of its runs spawned them

  Invariant
    A stop names one run and messages up to one sequence number, so it never hits a later run (rule 11), nor children
    of other runs. A repeated delivery gets the first reply and stops nothing. Waiting commands keep their place.
    Children are stopped after the run itself is marked, so that it cannot spawn more meanwhile (rule 12), even if
    that run has ended.
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
  order_stop(stop_orders, due, live, session, now, reason)
elseif run ~= "" then
  order_stop(stop_orders, due, live, session, now, reason, run)
end
if is_idle then
  return keep_reply(dedupe, keep_s, { "idle", "", children })
end
local begun = c.state == "running" or c.resumed == "1"
if c.run ~= run then
  -- Not kept: the caller checks whether this run answers what waited when the stop was given.
  return { "other", c.run, children, redis.call("ZRANGE", begun and bound or inbox, 0, 0, "WITHSCORES")[2] or 0 }
end
local upto = math.min(tonumber(c.seq) or 0, given_at)
if not all then
  -- One run alone: cancel what it answers, or would have answered, and nothing for a later run.
  local entries = begun and {} or next_messages(inbox, most)
  upto = #entries > 0 and entries[#entries].seq or 0
end
local cancelled, _, _, settled = settle_messages(inbox, receipts, upto, "cancelled", nil, now, reason, all, true)
send_to(outgoing, row, delivery.policies, pushing_routes(delivery.policies, settled), delivery.messages,
  { id = "out-" .. run .. "-" .. upto, session = session, run = run }, now)
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
redis.call("HSET", run_key, "error", "the turn was stopped (" .. reason .. ")")
put_texts(run_key, { partial = partial }, redis.call("HEXISTS", run_key, "batch") == 1)
end_run(run_key, "killed", reason, now)
event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason,
  raw = { covers = list_of(cancelled) } })
leave_to_waiter(run_key, run, cancelled)
local is_settled = settle_child(run_key, session, inbox, receipts, now, due, live, stop_orders)
local waiting = redis.call("ZRANGE", inbox, 0, 0)[1]
if waiting then
  open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, 0, rewake_ms,
    read_message(waiting).authority)
  follow_up(run_key, next_key, next_run, next_batch, next_open, now)
else
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. session)
  next_run = ""
end
local granted = grant(slots, line, due, cap, now, grant_ms)
return keep_reply(dedupe, keep_s, { "stopped", run, children, #cancelled, granted, next_run, is_settled })
