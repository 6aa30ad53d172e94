--[[
  Reset, expire or delete a session at once, ending whatever runs in it.

  includes  schema, clock, hashes, events, messages, lanes, runs, sessions, archives, batches, tree,
            outgoing, system_events

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
    run_key         hash    current run
    sessions        zset    index of sessions
    slots           zset    slots of the lane
    line            zset    line for a slot of the lane
    archive_prefix  list    start of the key of an archive
    archives        hash    archives that wait to be written
    live            zset    unsettled children of the session
    stop_orders     hash    orders to stop children
    children        zset    all children of the session
    spawned         zset    sessions that the session has spawned
    threads         hash    thread -> the session bound to it
    lost_calls         hash    model calls whose run was taken away
    outgoing        stream  new messages to chats
    system_events   list    events for the session's next turn
    event_keys      zset    events that the session has had
    label_prefix    zset    start of the key of the sessions with a label
  args
    session         text    session key
    run             text    run that the caller believes is current; empty for none
    verb            text    reset | expire (a reset by time, although no message came) | delete
    new_session_id  text    new session id
    cap             number  cap of the lane, 0 for none
    grant_ms        number  how long a granted slot is kept
    partial         text    what the run had written so far
    unused_since    text    act only if the session is idle and was last used at this time; empty in any case
    delivery        json    what goes to the chats of the cancelled messages, or after a reset to the last chat:
                            policies (by channel that pushes), messages

  Returns  {"done", granted, settled 0|1, old session id} | {"missing"} | {"used"} | {"other", current run}

  Invariant
    The lease goes with the old session (rule 6), so that nothing of a running turn enters the new transcript. Waiting
    messages are cancelled with a receipt. Nothing that a paused owner writes can bring a deleted session back. The
    model call of an owner that is dead, or dies before it notices, is not lost (rule 14).
]]
local SEEN = 200 -- the newest entries make up most of a request
local now, reason = now_ms(), verb == "expire" and "stale" or "session-" .. verb

if redis.call("EXISTS", row) == 0 then
  return { "missing" }
end
local old_session_id = redis.call("HGET", row, "sessionId") or ""
if old_session_id == new_session_id then
  return { "done", {}, 0, "" } -- a repeat (rule 13): what came since belongs to the new session
end
local c = fields(ctl, "state", "run", "started", "fence", "owner", "lease_until", "resumed", "how", "settling")
local settled = 0
c.state = c.state or "idle"
if unused_since ~= "" and (c.state ~= "idle" or redis.call("HGET", row, "updatedAt") ~= unused_since) then
  return { "used" }
end

-- Unless a tool runs, the owner may be calling a model, and nobody will take the run over to record that call. Its
-- cost is estimated by the size of the transcript.
local function leave_call()
  local is_lost = c.state == "queued" and c.resumed == "1" and c.how == "takeover"
  if (c.started or "") ~= "" or c.fence == c.settling or not (c.state == "running" or is_lost) then
    return
  end
  local size, flat, about = 0, redis.call("HGETALL", row), {}
  for _, raw in ipairs(redis.call("LRANGE", log, -SEEN, -1)) do
    size = size + #raw
  end
  for i = 1, #flat, 2 do
    about[flat[i]] = flat[i + 1]
  end
  local id = run .. ":" .. c.fence
  redis.call("HSET", lost_calls, id, cjson.encode({
    v = SCHEMA, session = session, run = run, fence = tonumber(c.fence), owner = c.owner or "", tokens = math.ceil(size / 4),
    row = about,
  }))
  redis.call("ZADD", due, math.max(now, tonumber(c.lease_until) or now), "lost_call|" .. id)
end

local at_work = c.state ~= "idle"
if at_work and c.run ~= run then
  return { "other", c.run }
end
order_stop(stop_orders, due, live, session, now, reason)
local cancelled = {}
local function cancel(zset, of_run, spare_announces)
  local ids, _, _, found = settle_messages(zset, receipts, "+inf", "cancelled", of_run, now, reason, false,
    spare_announces)
  for _, entry in ipairs(found) do
    cancelled[#cancelled + 1] = entry
  end
  return ids
end
if at_work then
  leave_call()
  if redis.call("HEXISTS", run_key, "batch") == 0 then
    drop_announces(inbox, log, receipts, events, ctl, now) -- those of a child go up with its own result
  end
  local covers = cancel(bound, run)
  for _, id in ipairs(cancel(inbox, nil, true)) do
    covers[#covers + 1] = id
  end
  add_covers(run_key, covers)
  redis.call("HSET", run_key, "error", "the session was " .. (verb == "delete" and "deleted" or "reset"))
  put_texts(run_key, { partial = partial }, redis.call("HEXISTS", run_key, "batch") == 1)
  end_run(run_key, "killed", reason, now)
  event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason,
    raw = { covers = list_of(covers) } })
  leave_to_waiter(run_key, run, covers)
  end_wait(ctl, run_key, due, now)
  settled = settle_child(run_key, session, inbox, receipts, now, due, live, stop_orders)
  cancel(inbox)
end
local routes = pushing_routes(delivery.policies, cancelled)
if #routes == 0 and verb == "reset" then
  routes = last_route(delivery.policies, row)
end
send_to(outgoing, row, delivery.policies, routes, delivery.messages,
  { id = "out-" .. new_session_id, session = session, run = at_work and run or nil }, now)
archive_system_events(system_events, ctl, log, now)
unbind_thread(row, threads)
redis.call("HDEL", ctl, "lease", "lease_until", "owner", "dropped")
redis.call("HSET", ctl, "state", "idle")
redis.call("ZREM", due, "turn|" .. session)
redis.call("ZREM", running, session)
leave_lane(slots, line, run, session)
event(events, ctl, now, verb == "delete" and "session.deleted" or "session.reset",
  { reason = reason, sessionId = new_session_id })
if verb == "delete" then
  if redis.call("HGET", row, "transient") == "1" then
    redis.call("DEL", log) -- it began as a copy of what its client keeps
  end
  cut_transcript(row, log, archive_prefix, archives, due, "", now, "delete",
    redis.call("HEXISTS", row, "spawnedWithFiles") == 1)
  set_label(label_prefix, row, session, "", now)
  forget_spawned(ctl, session)
  redis.call("DEL", row, ctl, inbox, bound, spawned, system_events, event_keys)
  -- The announce that carries up what a deleted child has not read still needs to know its children.
  redis.call("EXPIRE", children, RUN_KEPT_S)
  redis.call("ZREM", sessions, session)
  -- Viewers and senders still look up how their messages ended.
  redis.call("EXPIRE", events, 300)
  redis.call("EXPIRE", receipts, 86400)
  redis.call("EXPIRE", settled_key(receipts), 86400)
else
  cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, verb == "expire" and "stale" or "reset")
  if verb == "expire" then
    -- Nobody has used it. The next message of a person is answered with a word about the reset.
    redis.call("HSET", row, "updatedAt", unused_since, "rolledOver", 1)
  else
    touch(sessions, session, now)
  end
end
return { "done", grant(slots, line, due, cap, now, grant_ms), settled, old_session_id }
