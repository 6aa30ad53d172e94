--[[
  End a turn: append its last entries, settle its messages, record the run, and free or requeue the session.

  includes  schema, clock, hashes, fence, events, messages, reservations, ledger, lanes, inbox, runs, sessions, archives,
            batches, tree, outgoing, system_events, places

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
    stop_orders     hash    orders to stop children
    waiters         hash    sessions that wait for this one's answers
    next_batch      hash    batch of the run to open, if it is a child's
    next_open       set     unsettled runs of that batch
    relays          hash    answers to pass on to other sessions
    threads         hash    thread -> the session bound to it
    sessions        zset    index of sessions
    ledger          hash    ledger of the day
    ledger_before   hash    ledger of the day before
    outgoing        stream  new messages to chats
    system_events   list    events for the session's next turn
    places          hash    agent -> the place it is bound to
    places_apart  zset    agent -> when a live worker last did not see its place
    budget_keys…    keys    for each budget four: spent, reserved, ends, sums
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
    delivery        json    what goes to the chats of the answered messages: policies (by channel that pushes),
                            messages, suppressed (transcript entry for a reply that the policies hold back)
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
    announced if its parent waited for it. A reply to a chat enters the outbox in the moment the run ends (rule 17).
]]
local now = now_ms()

local owns = check_lease(ctl, lease)
local budgets = budgets_from(budget_keys)
record_calls(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)

-- Rule 13: the answer to a repeat, from what the first call left behind.
local function answer_again()
  local c = fields(ctl, "state", "run", "ready_at")
  if c.state == "queued" then
    local delay_ms = math.max(0, (tonumber(c.ready_at) or 0) - now)
    return { "committed", c.run, delay_ms, {}, c.run == run and "again" or "ended", {} }
  end
  local r = fields(run_key, "batch", "settled_at", "state")
  local how = not r.batch and "ended" or r.settled_at and "settled" or is_final(r.state) and "unsettled" or "parked"
  return { "committed", "", 0, {}, how, {} }
end

if not owns then
  return redis.call("HGET", run_key, "committed_by") == lease and answer_again() or { "lost" }
end

local is_child = redis.call("HEXISTS", run_key, "batch") == 1
local spent = usage_of(run_key)
local last_entry -- index in the transcript of the last entry of this turn

local function charge_session(by_person)
  local new = is_child and uncharged(run_key, spent) or spent
  local r = fields(row, "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "totalTokens", "turns",
    "lastInteractionAt")
  local function plus(field, amount)
    return (tonumber(r[field]) or 0) + amount
  end
  redis.call("HSET", row, "updatedAt", now, "contextTokens", outcome.context_tokens,
    "inputTokens", plus("inputTokens", new.input), "outputTokens", plus("outputTokens", new.output),
    "cacheRead", plus("cacheRead", new.cacheRead), "cacheWrite", plus("cacheWrite", new.cacheWrite),
    "totalTokens", plus("totalTokens", new.input + new.output + new.cacheRead + new.cacheWrite),
    "turns", plus("turns", 1), "lastInteractionAt", by_person and now or r.lastInteractionAt or now)
  touch(sessions, session, now)
end

-- Answers to messages of other sessions become due. Returns who gets them.
local function pass_answers_on(exchanges)
  local receivers = {}
  for _, entry in ipairs(outcome.state == "ok" and exchanges or {}) do
    redis.call("HSET", relays, entry.id, cjson.encode({
      v = SCHEMA, session = session, session_id = redis.call("HGET", row, "sessionId"), run = run, text = outcome.text,
      metadata = entry.metadata, authority = redis.call("HGET", run_key, "authority") or nil,
    }))
    redis.call("ZADD", due, now, "relay|" .. entry.id)
    receivers[#receivers + 1] = entry.metadata.from
  end
  return receivers
end

-- Rule 2: whether a child continues because messages wait, or parks because its children are unfinished.
local function goes_on()
  if not is_child or outcome.state ~= "ok" then
    return false, false
  end
  if redis.call("ZCARD", inbox) > 0 then
    return true, false
  end
  local parks = open_batches(run_key) > 0
  -- If a stop came during its last step, whoever takes it next ends it.
  local is_stopped = parks and redis.call("HGET", ctl, "abort") == run
  return is_stopped, parks and not is_stopped
end

-- Returns the text of the answer. What is not in the transcript, such as a command's reply, stays in the record.
local function record_answer(covers)
  local text, cut = outcome.text, outcome.reason == "length" and 1 or 0
  if is_child and text == "" then
    -- An empty answer keeps the one before.
    text, cut = redis.call("HGET", texts_key(run_key), "text") or "", redis.call("HGET", run_key, "cut") or 0
  end
  redis.call("HSET", run_key, "committed_by", lease, "error", outcome.error, "model", outcome.model, "cut", cut)
  put_texts(run_key, { text = text, partial = outcome.partial or "" }, is_child, outcome.text ~= "" and last_entry)
  if not last_entry and not is_child then
    redis.call("HSET", run_key, "text", first_bytes(text, TEXT_BYTES))
  end
  if is_child then
    add_covers(run_key, covers)
  else
    redis.call("HSET", run_key, "covers", list_of(covers))
  end
  return text
end

local function end_this_run(text, covers)
  end_run(run_key, outcome.state, outcome.reason, now)
  event(events, ctl, now, "run.ended", {
    run = run, state = outcome.state, reason = outcome.reason, text = text, error = outcome.error,
    usage = spent, raw = { covers = list_of(covers) },
  })
  local settled = settle_child(run_key, session, inbox, receipts, now, due, live, stop_orders) == 1
  return settled and "settled" or is_child and "unsettled" or "ended"
end

-- Send the answer to the chats that the messages came from, or note that the send policy holds it back.
local function deliver(settled)
  local about = { id = "out-" .. run .. "-" .. string.match(lease, "^%d+"), session = session, run = run }
  local routes = pushing_routes(delivery.policies, settled)
  local _, suppressed = send_to(outgoing, row, delivery.policies, routes, delivery.messages, about, now)
  if suppressed > 0 then
    redis.call("HSET", run_key, "suppressed", 1)
    redis.call("RPUSH", log, delivery.suppressed)
  end
end

local function reset_session()
  archive_system_events(system_events, ctl, log, now)
  order_stop(stop_orders, due, live, session, now, "session-reset")
  unbind_thread(row, threads)
  cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "command")
  event(events, ctl, now, "session.reset", { reason = "command", sessionId = new_session_id })
end

-- Returns the granted slots.
local function free_owner()
  redis.call("HDEL", ctl, "lease", "lease_until", "owner")
  redis.call("ZREM", running, session)
  if redis.call("HGET", suspects, worker) == run then
    redis.call("HDEL", suspects, worker)
  end
  -- Also without a cap: a worker that was still configured with one may have granted the slot.
  redis.call("ZREM", slots, session)
  return grant(slots, line, due, cap, now, grant_ms)
end

-- Open a run for what waits. Returns the run that the caller must wake, if any, and the milliseconds until it may
-- start.
local function open_next()
  local waiting = redis.call("ZRANGE", inbox, 0, 0)[1]
  if not waiting then
    redis.call("HSET", ctl, "state", "idle")
    redis.call("ZREM", due, "turn|" .. session)
    return "", 0
  end
  local ready_at, head = 0, read_message(waiting)
  if head.mode == "collect" and head.kind == "user" then
    local last = read_message(redis.call("ZRANGE", inbox, -1, -1)[1])
    ready_at = debounce_ends_at(head, math.min(last.accepted_at, now), last.debounce_ms)
  end
  open_run(ctl, next_key, runs, due, session, next_run, lane, agent, now, ready_at, rewake_ms, head.authority)
  follow_up(run_key, next_key, next_run, next_batch, next_open, now)
  local is_pushed = ready_at <= now and push_wake(queue_for(queue, places, places_apart, agent), wake_message)
  return is_pushed and "" or next_run, math.max(0, ready_at - now)
end

unreserve(run, budgets)
charge_work(outcome.worked, budgets)
last_entry = #entries > 0 and redis.call("RPUSH", log, unpack(entries)) - 1 or nil
local covers, by_person, exchanges, settled = settle_messages(bound, receipts, "+inf", outcome.messages, run, now,
  outcome.reason)
charge_session(by_person)
deliver(settled)
for _, entry in ipairs(settled) do
  if entry.metadata and entry.metadata.firing then
    redis.call("ZADD", due, now, "firing|" .. entry.metadata.firing) -- what follows for its job
  end
end
local answered = wake_waiting_for(waiters, covers, due, now)
for _, receiver in ipairs(pass_answers_on(exchanges)) do
  answered[#answered + 1] = receiver
end
if outcome.reset then
  drop_announces(inbox, log, receipts, events, ctl, now)
end

local again, parks = goes_on()
if is_child and not again and not parks then
  leave_to_waiter(run_key, run, covers)
end
end_wait(ctl, run_key, due, now)
local text, how = record_answer(covers), again and "again" or "parked"
if again or parks then
  redis.call("HSET", run_key, "state", again and "queued" or "parked")
  leave_attempt(run_key, now, again and "continued" or "parked")
  event(events, ctl, now, "run.parked", { run = run, text = outcome.text, batches = open_batches(run_key) })
else
  how = end_this_run(text, covers)
end
if outcome.reset then
  reset_session()
end
set_fields(row, outcome.row)
local granted = free_owner()

if parks then
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
local next_to_wake, delay_ms = open_next()
return { "committed", next_to_wake, delay_ms, granted, how, answered }
