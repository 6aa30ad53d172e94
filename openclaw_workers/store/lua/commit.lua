--[[
  End a turn: append its last entries, settle its messages, record the run, and free or requeue the session.

  includes  clock, hashes, fence, events, messages, reservations, ledger, lanes, inbox, runs, sessions, archives,
            batches, tree

  keys
    row             hash    session row
    ctl             hash    session control record
    inbox           zset    waiting messages
    bound           zset    messages that the current run answers
    receipts        hash    message id -> receipt
    log             list    transcript
    events          stream  events for viewers
    due             zset    index of due items
    running         zset    index of running sessions
    run_key         hash    run record
    next_key        hash    run to open
    runs            zset    index of runs
    suspects        hash    worker -> the suspect run it carries
    slots           zset    slots of the lane
    line            zset    line for a slot of the lane
    archive_prefix  list    start of the key of an archive
    archives        hash    archives that wait to be written
    queue           list    the lane's broker queue
    live            zset    unsettled children of the session
    reaps           hash    orders to stop children
    waiters         hash    sessions that wait for this one's answers
    next_batch      hash    batch of the run to open, if it is a child's
    next_open       set     unsettled runs of that batch
    relays          hash    answers to pass on to other sessions
    threads         hash    thread -> the session bound to it
    sessions        zset    index of sessions
    ledger          hash    ledger of the day
    ledger_before   hash    ledger of the day before
    budgets…        hashes  for each budget two: spent, reserved
  args
    session         text    session key
    lease           text    lease of the caller
    run             text    run id
    worker          text    worker id
    outcome         json    state, reason, text, error, partial, messages (state of the bound messages), model, worked
                            (seconds of tools since the last step), context_tokens, reset (whether a new session
                            begins), row (fields to set)
    next_run        text    run id to open if messages are left
    lane            text    lane
    agent           text    agent id
    cap             number  cap of the lane, 0 for none
    grant_ms        number  how long a granted slot is kept
    rewake_ms       number  milliseconds after which an unanswered wake-up counts as lost
    new_session_id  text    session id, if a new session begins
    wake_message    text    wake-up message for the run to open; empty if the caller publishes it
    ledger_entries  json    calls {id, entry, amounts, usage} and attempts {id, attempt} to record
    entries…        text    transcript entries (JSON)

  Returns  {"committed", next run to wake or "", milliseconds until it may start, granted: run, session, run …,
            "ended" | "unsettled" | "settled" | "again" | "parked", sessions that wait for these answers}
           {"lost"}

  Invariant
    Entries, receipts, run record and the session's next state change together or not at all. A run is committed once:
    a repeat with the same lease gets the first answer, any other lease is refused. A child's run does not end while
    its inbox holds messages or its children are unfinished (rule 2): it continues, or parks without holding anything.
    An answer to another session's message becomes due in the moment it is given. A child's follow-up run is not
    announced if its parent waited for it.
]]
local now = now_ms()

local owns = check_lease(ctl, lease)
record_calls(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)
if not owns then
  if redis.call("HGET", run_key, "committed_by") == lease then
    local c = fields(ctl, "state", "run", "ready_at")
    if c.state == "queued" then
      return { "committed", c.run, math.max(0, (tonumber(c.ready_at) or 0) - now), {}, c.run == run and "again" or "ended", {} }
    end
    local r = fields(run_key, "batch", "settled_at", "state")
    local how = not r.batch and "ended" or r.settled_at and "settled" or is_final(r.state) and "unsettled" or "parked"
    return { "committed", "", 0, {}, how, {} }
  end
  return { "lost" }
end

unreserve(run, budgets)
charge_work(outcome.worked, budgets)
if #entries > 0 then
  redis.call("RPUSH", log, unpack(entries))
end
local covers, by_person, exchanges = settle_messages(bound, receipts, "+inf", outcome.messages, run, now, outcome.reason)
local spent = usage_of(run_key)

local is_child = redis.call("HEXISTS", run_key, "batch") == 1
local new = is_child and uncharged(run_key, spent) or spent
local total = new.input + new.output + new.cacheRead + new.cacheWrite
local r = fields(row, "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "totalTokens", "turns",
  "lastInteractionAt")
redis.call("HSET", row, "updatedAt", now, "contextTokens", outcome.context_tokens,
  "inputTokens", (tonumber(r.inputTokens) or 0) + new.input, "outputTokens", (tonumber(r.outputTokens) or 0) + new.output,
  "cacheRead", (tonumber(r.cacheRead) or 0) + new.cacheRead, "cacheWrite", (tonumber(r.cacheWrite) or 0) + new.cacheWrite,
  "totalTokens", (tonumber(r.totalTokens) or 0) + total, "turns", (tonumber(r.turns) or 0) + 1,
  "lastInteractionAt", by_person and now or r.lastInteractionAt or now)
touch(sessions, session, now)

local answered = wake_waiting_for(waiters, covers, due, now)
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
  again, parked = true, false -- a stop came during its last step: whoever takes it next ends it
end
if is_child and not again and not parked then
  leave_to_waiter(run_key, run, covers)
end
end_wait(ctl, run_key, due, now)
local said, cut = outcome.text, outcome.reason == "length" and 1 or 0
if is_child and said == "" then
  local before = fields(run_key, "text", "cut") -- an empty answer keeps the one before
  said, cut = before.text or "", before.cut or 0
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
  unbind_thread(row, threads)
  cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "command")
  event(events, ctl, now, "session.reset", { reason = "command", sessionId = new_session_id })
end
set_fields(row, outcome.row)

redis.call("HDEL", ctl, "lease", "lease_until", "owner")
redis.call("ZREM", running, session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
-- Also without a cap: a worker that was still configured with one may have granted the slot.
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
if ready_at <= now and push_wake(queue, wake_message) then
  next_run = ""
end
return { "committed", next_run, math.max(0, ready_at - now), granted, how, answered }
