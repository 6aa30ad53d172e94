--[[
  Make a worker the owner of a session that has work, and hand it all it needs for the turn.

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
  KEYS[11] suspects          hash
  KEYS[12] lane slots        zset
  KEYS[13] lane line         zset
  KEYS[14] lane ticket       string
  KEYS[15] what the key of an archive begins with   list
  KEYS[16] archives          hash
  KEYS[17] unsettled children of the session   zset
  KEYS[18] reaps             hash
  KEYS[19] sessions          zset

  ARGV[1]  session key
  ARGV[2]  run id of the wake-up
  ARGV[3]  nonce of this attempt to take
  ARGV[4]  worker id
  ARGV[5]  lease, milliseconds
  ARGV[6]  lane cap, 0 for none
  ARGV[7]  1 if this process carries no suspect
  ARGV[8]  time the run may take, milliseconds
  ARGV[9]  when the session is stale, JSON: by channel ("" for others) the last daily boundary (epoch milliseconds,
           0 for none) and the idle time (milliseconds, 0 for never)
  ARGV[10] session id if the session starts anew
  ARGV[11] most transcript entries to return
  ARGV[12] most messages collected into one turn
  ARGV[13] session id whose transcript the caller knows, or ""
  ARGV[14] how many entries of it the caller knows
  ARGV[15] how long a granted slot is kept, milliseconds
  ARGV[16] SHA-1 of the last of those entries, as it is stored

  Returns  {"taken", lease, step, attempt, suspect 0|1, resumed 0|1, started call, deadline, now, abort reason or "",
            bound messages, transcript length, transcript tail (what fits into a short answer), row as a flat list, how the run came to be taken,
            owners that died over a model call which is not booked, a JSON list of fences,
            1 if messages may wait to be steered in, else 0,
            1 if the transcript still begins with what the caller knows, else 0}
           {"gone", granted} | {"idle", granted} | {"stale", granted} | {"parked", granted} | {"early", granted}
           {"lane", granted} | {"suspect", granted} | {"held"}   granted: run, session, run …

  Invariant
    One owner at a time: the lease is `fence:nonce` with a fence that only grows (rule 6). Messages leave the inbox
    only bound to the run that answers them, in order (rule 10). The same nonce gets the same answer (rule 13).
    Whoever takes a run removes its place in line, and whoever finds nothing to do keeps no slot (rule 16).
]]
local row, ctl, inbox, bound, receipts, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local events, due, running, run_key, suspects = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local slots, line, ticket_key, archive_prefix, archives = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local live, reaps = KEYS[17], KEYS[18]
local session, run, nonce, worker, lease_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local cap, may_suspect, time_ms = tonumber(ARGV[6]), ARGV[7] == "1", tonumber(ARGV[8])
local stale, new_session_id = cjson.decode(ARGV[9]), ARGV[10]
local tail, most, known_id, known_length = tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[13], tonumber(ARGV[14])
local grant_ms = tonumber(ARGV[15])
local now = now_ms()

local c = redis.call("HMGET", ctl, "state", "run", "lease", "ready_at", "attempt", "fence", "resumed", "ticket", "how",
  "step", "started", "abort", "abort_reason", "dropped", "losses", "steer_seq", "steer_done", "woken_at")
local state, attempt, resumed, ticket = c[1], tonumber(c[5]) or 1, c[7] == "1", tonumber(c[8])
local abort = c[12] == run and c[13] or ""
-- Rule 5: a run that lost a worker without getting further, or lost two all the same, is watched.
local suspect = attempt >= 2 or (tonumber(c[15]) or 0) >= 2

-- Only to a turn that goes on: what waited when a new one was opened is not for it, and costs it no step.
local function may_have_steering()
  local newer = (tonumber(c[16]) or 0) > (tonumber(c[17]) or 0)
  return resumed and newer and redis.call("EXISTS", inbox) or 0
end

local function answer(lease, deadline, messages)
  local length, from = redis.call("LLEN", log), 0
  -- Not by its length alone: a failover may have lost entries, and others may stand in their place.
  local last = redis.call("HGET", row, "sessionId") == known_id and redis.call("LINDEX", log, known_length - 1)
  local holds = known_length > 0 and last and redis.sha1hex(last) == ARGV[16]
  if holds then
    from = known_length
  end
  return { "taken", lease, c[10], attempt, suspect and 1 or 0, c[7], c[11] or "", deadline, now, abort, messages, length,
    newest_entries(log, math.max(from, length - tail), length - 1), redis.call("HGETALL", row),
    c[9] or "taken", redis.call("HGET", run_key, "dead") or "[]", may_have_steering(), holds and 1 or 0 }
end

-- The run does not go on now: its place and its slot are for others.
local function refuse(why)
  redis.call("ZREM", line, run .. " " .. session)
  redis.call("ZREM", slots, session)
  return { why, grant(slots, line, due, cap, now, grant_ms) }
end

if not state then
  return refuse("gone")
end
if state == "idle" then
  return refuse("idle")
end
if c[2] ~= run then
  -- The session's current run may have the slot. It has none while it still stands in line.
  return redis.call("ZSCORE", line, c[2] .. " " .. session) and refuse("stale") or { "stale", {} }
end
if state == "running" then
  if c[3] == (c[6] or "") .. ":" .. nonce then
    return answer(c[3], redis.call("HGET", run_key, "deadline_at"), redis.call("ZRANGE", bound, 0, -1))
  end
  return { "held" }
end
if state == "parked" then
  return refuse("parked")
end
if starts_at(c[4], c[18], now) > now then
  return refuse("early")
end
if suspect and not may_suspect then
  -- It waits for its place in a process, and not in a slot that others could use meanwhile; it keeps its ticket.
  redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
  return refuse("suspect")
end

local place = run .. " " .. session
if cap > 0 then
  ticket = ticket or redis.call("INCR", ticket_key)
  if not redis.call("ZSCORE", slots, session) then
    local head = redis.call("ZRANGE", line, 0, 0)[1]
    if redis.call("ZCARD", slots) >= cap or (head and head ~= place) then
      redis.call("HSET", ctl, "ticket", ticket)
      redis.call("ZADD", line, ticket, place)
      redis.call("ZADD", due, now + 60000, "turn|" .. session)
      return { "lane", grant(slots, line, due, cap, now, grant_ms) }
    end
  end
  redis.call("ZADD", slots, now + lease_ms, session)
end
redis.call("ZREM", line, place) -- also without a cap: a place that outlives its run would hold a slot later

local fence = (tonumber(c[6]) or 0) + 1
local lease = fence .. ":" .. nonce
redis.call("HSET", ctl, "state", "running", "fence", fence, "lease", lease, "lease_until", now + lease_ms,
  "owner", worker, "progress", 0, "ticket", ticket or "")
redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
redis.call("ZADD", running, now, session)
if suspect then
  redis.call("HSET", suspects, worker, run)
elseif may_suspect then
  redis.call("HDEL", suspects, worker) -- a process that was only paused lost its suspect to another
end

-- Rule 9: whether the session starts anew is decided here, in inbox order, and by people's messages only: what a child
-- or another session has to say belongs to the life it was asked in.
local function start_anew_if_stale()
  local r = redis.call("HMGET", row, "lastInteractionAt", "lastChannel", "sessionId")
  local seen, limits = tonumber(r[1]) or now, stale[r[2] or ""] or stale[""]
  -- The boundary is by the worker's clock: one that is ahead would find every new life too old until we are there.
  local boundary = limits[1] > now and limits[1] - 86400000 or limits[1]
  local head = redis.call("ZRANGE", inbox, 0, 0)[1]
  local by_person = head and read_message(head).kind ~= "internal"
  if by_person and (seen < boundary or (limits[2] > 0 and now - seen > limits[2])) then
    reap(reaps, due, live, session, now, "session-reset")
    drop_announces(inbox, log, receipts, events, ctl, now)
    cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "stale")
    touch(KEYS[19], session, now)
    event(events, ctl, now, "session.reset", { reason = "stale", sessionId = new_session_id })
    return new_session_id
  end
  return r[3]
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
    local dropped = texts_in(c[14])
    if #dropped > 0 then
      redis.call("HDEL", ctl, "dropped")
    end
    redis.call("RPUSH", log, user_entry(entries, run, now, first.metadata.provenance, dropped))
  end
  return messages, covers, first or {}
end

local known = redis.call("HMGET", run_key, "attempts", "deadline_at", "covers", "timeout_ms", "session_id", "k_events", "k_ctl",
  "label", "metadata")
local deadline, messages, covers, first = known[2], nil, nil, nil
local changed = { "state", "running", "attempt", attempt, "attempts", with_attempt(known[1], worker, now, c[9]) }
if resumed then
  messages, covers = redis.call("ZRANGE", bound, 0, -1), texts_in(known[3])
elseif known[1] then
  -- A child that was waiting for its own children goes on: same run, same deadline, new messages.
  messages, covers, first = bind()
  local before = texts_in(known[3])
  for _, id in ipairs(covers) do
    before[#before + 1] = id
  end
  changed[#changed + 1], changed[#changed + 2] = "covers", list_of(before)
else
  local session_id = start_anew_if_stale()
  messages, covers, first = bind()
  deadline = now + (first.timeout_seconds and first.timeout_seconds * 1000 or tonumber(known[4]) or time_ms)
  if known[6] then
    tell(known[6], known[7], now, "subagent.started", {
      run = run, session = session, label = known[8], worker = worker, raw = metadata_of(known[9]),
    })
  end
  for _, value in ipairs({ "covers", list_of(covers), "started_at", now,
    "deadline_at", deadline, "session_id", session_id }) do
    changed[#changed + 1] = value
  end
end
if first then
  -- Kept with the run: whoever books what a dead owner asked may not find the message any more.
  changed[#changed + 1], changed[#changed + 2] = "wanted_model", first.model or ""
end
redis.call("HSET", run_key, unpack(changed))
event(events, ctl, now, "run.started", {
  run = run, attempt = attempt, worker = worker, raw = { covers = list_of(covers) },
})
return answer(lease, deadline, messages)
