--[[
  Give a running turn back unfinished, with a complete journal, for another worker to continue.

  includes  clock, fence, events, reservations, ledger, lanes, runs

  keys
    ctl            hash    session control record
    due            zset    index of due items
    running        zset    index of running sessions
    run_key        hash    run record
    suspects       hash    worker -> the suspect run it carries
    slots          zset    slots of the lane
    line           zset    line for a slot of the lane
    events         stream  events for viewers
    waiters        hash    sessions that wait for answers of another session, or for people's; only to park
    ledger         hash    ledger of the day
    ledger_before  hash    ledger of the day before
    budget_keys…   keys    for each budget four: spent, reserved, ends, sums
  args
    session         text    session key
    lease           text    lease of the caller
    run             text    run id
    worker          text    worker id
    cap             number  cap of the lane, 0 for none
    grant_ms        number  how long a granted slot is kept
    rewake_ms       number  milliseconds after which an unanswered wake-up counts as lost
    wait_ms         number  0 to hand the turn over; otherwise to park it, how long to wait for an answer
    message         text    message or question whose answer the run waits for
    ledger_entries  json    calls {id, entry, amounts, usage} and attempts {id, attempt} to record

  Returns  {"released", granted: run, session, …} | {"parked", granted} | {"lost"}

  Invariant
    The run keeps its messages, its step and its lane ticket, and no attempt is charged (rule 5). Losses at an earlier
    step are forgotten. A repeat with the same lease counts nothing twice and answers "released" again, so that the
    wake-up is not lost (rule 13). A run parks only while the answer has not come and nobody stops it; otherwise it is
    handed over and continues at once (rule 2). It never parks beyond its deadline.
]]
local now = now_ms()

local owns, c = check_lease(ctl, lease, "ticket", "abort", "progress")
local budgets = budgets_from(budget_keys)
record_calls(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)
if not owns then
  if redis.call("HGET", run_key, "released_by") == lease then
    return { "released", {} }
  end
  return { "lost" }
end
unreserve(run, budgets)
redis.call("HDEL", ctl, "lease", "lease_until", "owner")
-- The answer may have come since the tool looked. Then nobody would wake a parked run.
local parks = wait_ms > 0 and c.abort ~= run and redis.call("HEXISTS", waiters, message) == 1
local rests_ms = math.min(wait_ms, (tonumber(redis.call("HGET", run_key, "deadline_at")) or now + wait_ms) - now)
local state = parks and "parked" or "queued"
redis.call("HSET", ctl, "state", state, "resumed", 1, "how", parks and "unpark" or "handover", "ready_at", 0,
  "wakes", 1,
  "woken_at", now)
if c.progress == "1" then
  redis.call("HSET", ctl, "stalls", 0) -- it made progress: a loss at the next step is the first one there
end
redis.call("HSET", run_key, "state", state, "released_by", lease)
leave_attempt(run_key, now, parks and "parked" or "handover")
redis.call("ZREM", running, session)
redis.call("ZADD", due, now + (parks and rests_ms or rewake_ms), "turn|" .. session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
-- The slot is freed in both cases, but only a run that is handed over keeps its ticket.
redis.call("ZREM", slots, session)
if parks then
  redis.call("HSET", ctl, "ticket", "")
  event(events, ctl, now, "run.parked", { run = run, waits_for = message })
  return { "parked", grant(slots, line, due, cap, now, grant_ms) }
end
event(events, ctl, now, "run.released", { run = run, worker = worker })
if cap > 0 then
  redis.call("ZADD", line, tonumber(c.ticket) or 0, run .. " " .. session)
end
return { "released", grant(slots, line, due, cap, now, grant_ms) }
