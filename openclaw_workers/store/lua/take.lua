--[[
  Make a worker the owner of a session that has work, and return all it needs for the turn.

  includes  authority, clock, schema, hashes, events, messages, lanes, inbox, transcripts, runs, sessions, archives,
            batches, tree, outgoing, system_events

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
    run_key         hash    run
    suspects        hash    worker -> the suspect run it carries
    slots           zset    slots of the lane
    line            zset    line for a slot of the lane
    ticket_key      string  last ticket of the lane
    archive_prefix  list    start of the key of an archive
    archives        hash    archives that wait to be written
    live            zset    unsettled children of the session
    stop_orders     hash    orders to stop children
    sessions        zset    index of sessions
    outgoing        stream  new messages to chats
    system_events   list    events for the session's next turn
    places          hash    agent -> the place it is bound to
    places_seen  zset    place -> when a worker that takes turns last saw it
  args
    session         text    session key
    run             text    run id of the wake-up
    nonce           text    nonce of this attempt to take
    worker          text    worker id
    lease_ms        number  length of a lease
    cap             number  cap of the lane, 0 for none
    may_suspect     flag    whether this process carries no suspect
    time_ms         number  time the run may take
    stale           json    by channel ("" for others): last daily boundary (epoch milliseconds, 0 for none) and idle
                            time (milliseconds, 0 for never) after which a session is stale
    new_session_id  text    session id, if a new session begins
    tail            number  most transcript entries to return
    most            number  most messages that one turn collects
    known_id        text    session id whose transcript the caller knows; empty for none
    known_length    number  how many entries of it the caller knows
    grant_ms        number  how long a granted slot is kept
    known_digest    text    SHA-1 of the last of them, as it is stored
    delivery        json    what goes to the chat if the session is reset: policies (by channel that pushes), messages
    agent           text    agent id
    is_placed       flag    whether the agent runs only where its files are
    seen_place      text    place that this worker sees for the agent; empty for none

  Returns  {"taken", lease, step, attempt, suspect 0|1, resumed 0|1, started call, deadline, now, abort reason or "",
            bound messages, transcript length, transcript tail (what fits into a short answer), row as a flat list,
            how the run came to be taken, JSON list of fences of dead owners whose model call is not recorded,
            1 if messages may wait to be steered in, 1 if the transcript still begins with what the caller knows}
           {"gone", granted} | {"idle", granted} | {"stale", granted} | {"parked", granted} | {"early", granted}
           {"lane", granted} | {"suspect", granted} | {"newer", granted} | {"held"}   granted: run, session, run …
           {"unplaced"}   the agent has no place yet: make one, and take again
           {"elsewhere", {}, place}   this worker does not see the place of the agent

  Invariant
    One owner at a time: the lease is `fence:nonce`, and the fence only grows (rule 6). Messages leave the inbox only
    bound to the run that answers them, in order (rule 10). The same nonce gets the same answer (rule 13). Whoever
    takes a run removes its place in line, and whoever finds nothing to do keeps no slot (rule 16). A run of an agent
    with a place runs only where that is seen; one that was stopped is ended anywhere.
]]
local now = now_ms()

local c = fields(ctl, "state", "run", "lease", "ready_at", "attempt", "fence", "resumed", "ticket", "how",
  "step", "started", "abort", "abort_reason", "dropped", "losses", "steer_seq", "steer_done", "woken_at",
  "events_wait", "waits_at", "v")
local state, attempt, resumed, ticket = c.state, tonumber(c.attempt) or 1, c.resumed == "1", tonumber(c.ticket)
local abort = c.abort == run and c.abort_reason or ""
-- Rule 5: a run that lost a worker without progress, or two in any case, is a suspect.
local suspect = attempt >= 2 or (tonumber(c.losses) or 0) >= 2

-- Only for a turn that continues: a new turn has just bound what is for it.
local function may_have_steering()
  local newer = (tonumber(c.steer_seq) or 0) > (tonumber(c.steer_done) or 0)
  return resumed and newer and redis.call("EXISTS", inbox) or 0
end

local function answer(lease, deadline, messages)
  local length, from = redis.call("LLEN", log), 0
  -- Not by length alone: a failover may have lost entries, and others may have taken their place.
  local last = redis.call("HGET", row, "sessionId") == known_id and redis.call("LINDEX", log, known_length - 1)
  local holds = known_length > 0 and last and redis.sha1hex(last) == known_digest
  if holds then
    from = known_length
  end
  return { "taken", lease, c.step, attempt, suspect and 1 or 0, c.resumed, c.started or "", deadline, now, abort,
    messages, length,
    newest_entries(log, math.max(from, length - tail), length - 1), redis.call("HGETALL", row),
    c.how or "taken", redis.call("HGET", run_key, "dead") or "[]", may_have_steering(), holds and 1 or 0 }
end

local function refuse(why)
  leave_lane(slots, line, run, session)
  return { why, grant(slots, line, due, cap, now, grant_ms) }
end

if not state then
  return refuse("gone")
end
if state == "idle" then
  return refuse("idle")
end
if c.run ~= run then
  -- The session's current run may hold the slot; not while it still stands in line.
  return redis.call("ZSCORE", line, c.run .. " " .. session) and refuse("stale") or { "stale", {} }
end
if state == "running" then
  if c.lease == (c.fence or "") .. ":" .. nonce then
    return answer(c.lease, redis.call("HGET", run_key, "deadline_at"), redis.call("ZRANGE", bound, 0, -1))
  end
  return { "held" }
end
if state == "parked" then
  return refuse("parked")
end
-- A worker of the newer version takes it, once there is one.
local head = not resumed and redis.call("ZRANGE", inbox, 0, 0)[1]
if is_newer(c.v) or (head and is_newer(read_message(head).v)) then
  return refuse("newer")
end
if starts_at(c.ready_at, c.woken_at, now) > now then
  return refuse("early")
end
if is_placed and abort == "" then
  local bound_to = redis.call("HGET", places, agent)
  if not bound_to and seen_place == "" then
    return { "unplaced" }
  elseif not bound_to then
    redis.call("HSET", places, agent, seen_place)
    redis.call("ZADD", places_seen, now, seen_place)
  elseif bound_to ~= seen_place then
    return { "elsewhere", {}, bound_to }
  end
end
if suspect and not may_suspect then
  -- It waits for a process without a suspect. It keeps its ticket, but no slot that others could use meanwhile.
  -- Its wake-up was not lost, so the next one is not delayed as if several had been.
  redis.call("HSET", ctl, "wakes", 0)
  redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
  return refuse("suspect")
end

if cap > 0 then
  ticket = ticket or redis.call("INCR", ticket_key)
  if not has_room(slots, line, run, session, cap) then
    redis.call("HSET", ctl, "ticket", ticket)
    stand_in_line(line, due, run, session, ticket, now)
    return { "lane", grant(slots, line, due, cap, now, grant_ms) }
  end
  redis.call("ZADD", slots, now + lease_ms, session)
end
redis.call("ZREM", line, run .. " " .. session) -- also without a cap: a stale place would hold a slot later

local fence = (tonumber(c.fence) or 0) + 1
local lease = fence .. ":" .. nonce
redis.call("HSET", ctl, "state", "running", "fence", fence, "lease", lease, "lease_until", now + lease_ms,
  "owner", worker, "progress", 0, "ticket", ticket or "", "v", SCHEMA)
redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
redis.call("ZADD", running, now, session)
if suspect then
  redis.call("HSET", suspects, worker, run)
elseif may_suspect then
  redis.call("HDEL", suspects, worker) -- this process was paused, and another took its suspect over
end

-- Rule 9: whether the session is reset is decided here, in inbox order, and by messages of people only. Results of
-- children and answers of sessions belong to the session that asked for them.
local function reset_if_stale()
  local r = fields(row, "lastInteractionAt", "lastChannel", "sessionId", "rolledOver")
  local seen, limits = tonumber(r.lastInteractionAt) or now, stale[r.lastChannel or ""] or stale[""]
  -- The boundary is by the worker's clock. If that is ahead of ours, every new session would look stale until then.
  local boundary = limits[1] > now and limits[1] - 86400000 or limits[1]
  local head = redis.call("ZRANGE", inbox, 0, 0)[1]
  local first = head and read_message(head)
  local by_person = first and first.kind ~= "internal"
  local function tell()
    send_to(outgoing, row, delivery.policies, pushing_routes(delivery.policies, { first }), delivery.messages,
      { id = "out-" .. run, session = session, run = run }, now)
    redis.call("HDEL", row, "rolledOver")
  end
  if by_person and (seen < boundary or (limits[2] > 0 and now - seen > limits[2])) then
    order_stop(stop_orders, due, live, session, now, "session-reset")
    drop_announces(inbox, log, receipts, events, ctl, now)
    if c.events_wait then
      archive_system_events(system_events, ctl, log, now)
      c.events_wait = nil
    end
    tell()
    cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "stale")
    touch(sessions, session, now)
    event(events, ctl, now, "session.reset", { reason = "stale", sessionId = new_session_id })
    return new_session_id
  end
  if by_person and r.rolledOver then
    tell() -- it was reset by time while nobody spoke
  end
  return r.sessionId
end

-- The wake-up that waits in the inbox. There is one at most, because further events join it.
local function waiting_wake()
  local known = redis.call("HGET", receipts, redis.call("HGET", ctl, "wake_id") or "")
  local ok, place = pcall(cjson.decode, known or "")
  local seq = ok and type(place) == "table" and place.state == "accepted" and place.seq
  local raw = seq and redis.call("ZRANGEBYSCORE", inbox, seq, seq)[1]
  return raw and is_wake(read_message(raw)) and raw or nil
end

local function bind()
  local entries, messages = next_messages(inbox, most)
  local covers, first = {}, entries[1]
  for index, raw in ipairs(messages) do
    covers[#covers + 1] = entries[index].id
    redis.call("ZREM", inbox, raw)
    redis.call("ZADD", bound, entries[index].seq, raw)
    receipt(receipts, entries[index], "bound", run, now)
  end
  if first and first.kind ~= "command" and first.kind ~= "unreadable" then
    local dropped = texts_in(c.dropped)
    if #dropped > 0 then
      redis.call("HDEL", ctl, "dropped")
    end
    local shown = c.events_wait and take_system_events(system_events, ctl)
    if shown then
      -- A wake-up that waits has nothing else to tell: this turn answers it too.
      local raw = not is_wake(first) and waiting_wake()
      if raw then
        local entry = read_message(raw)
        covers[#covers + 1], messages[#messages + 1] = entry.id, raw
        redis.call("ZREM", inbox, raw)
        redis.call("ZADD", bound, entry.seq, raw)
        receipt(receipts, entry, "bound", run, now)
      end
      redis.call("RPUSH", log, events_entry(shown, run, now))
    end
    if not shown or not is_wake(first) then
      redis.call("RPUSH", log, user_entry(entries, run, now, first.metadata.provenance, dropped))
    end
  end
  return messages, covers, first or {}
end

local known = fields(run_key, "attempts", "deadline_at", "covers", "timeout_ms", "session_id", "events_key", "ctl_key",
  "label", "metadata", "authority")
local deadline, messages, covers, first = known.deadline_at, nil, nil, nil
local changed = { "state", "running", "attempt", attempt, "attempts", with_attempt(known.attempts, worker, now, c.how) }
if (c.waits_at or "") ~= "" then
  -- The time in which nobody saw the place does not count.
  deadline = deadline and deadline + math.max(0, now - c.waits_at)
  redis.call("HSET", ctl, "waits_at", "", "waits_for", "")
  redis.call("HDEL", run_key, "waits_for")
  if deadline then
    redis.call("HSET", run_key, "deadline_at", deadline)
  end
end
if resumed then
  messages, covers = redis.call("ZRANGE", bound, 0, -1), texts_in(known.covers)
elseif known.attempts then
  -- A child that waited for its own children continues: same run, same deadline, new messages.
  messages, covers, first = bind()
  local before = texts_in(known.covers)
  for _, id in ipairs(covers) do
    before[#before + 1] = id
  end
  changed[#changed + 1], changed[#changed + 2] = "covers", list_of(before)
else
  local session_id = reset_if_stale()
  messages, covers, first = bind()
  deadline = now + (first.timeout_seconds and first.timeout_seconds * 1000 or tonumber(known.timeout_ms) or time_ms)
  if known.events_key then
    event(known.events_key, known.ctl_key, now, "subagent.started", {
      run = run, session = session, label = known.label, worker = worker, raw = metadata_of(known.metadata),
    })
  end
  for _, value in ipairs({ "covers", list_of(covers), "started_at", now,
    "deadline_at", deadline, "session_id", session_id, "title", beginning_of(first.text or "") }) do
    changed[#changed + 1] = value
  end
end
if first then
  -- Who asked. What follows from the run, such as its announce, has the lowest authority of all its turns.
  local asked = first.authority or "anyone"
  local authority = known.attempts and lesser(known.authority, asked) or asked
  changed[#changed + 1], changed[#changed + 2] = "authority", authority
  -- Kept with the run: by the time the call of a dead owner is recorded, the message may be gone.
  changed[#changed + 1], changed[#changed + 2] = "wanted_model", first.model or ""
end
redis.call("HSET", run_key, unpack(changed))
event(events, ctl, now, "run.started", {
  run = run, attempt = attempt, worker = worker, raw = { covers = list_of(covers) },
})
return answer(lease, deadline, messages)
