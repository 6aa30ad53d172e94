--[[
  Sessions that spawn sessions. A child's run record names the keys of its parent's side, as `spawn` was given them:
  whoever ends the run, wherever, finds them there. A run without `batch` is nobody's child.

  includes  schema, hashes, events, runs, batches
]]
-- Rule 12: order the children of a session, or of one `run` of it, to be stopped, up to the one spawned last. The sweep
-- carries the order out if nobody else does. An order that covers them already is not replaced when their parent ends.
local function order_stop(stop_orders, due, live, session, now, reason, run)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2])
  if not last or run == "" then
    return
  end
  local order = run and run .. " " .. session or session
  for _, known in ipairs(reason == "parent-ended" and { session, order } or {}) do
    local raw = redis.call("HGET", stop_orders, known)
    if raw and cjson.decode(raw).upto >= last then
      return
    end
  end
  redis.call("HSET", stop_orders, order, cjson.encode({ v = SCHEMA, upto = last, reason = reason, run = run }))
  redis.call("ZADD", due, now, "stop_children|" .. order)
end

-- A parent that waits in a call for one of these answers reads the follow-up there; it is not announced too.
local function leave_to_waiter(run_key, run, covers)
  local r = fields(run_key, "batch", "batch_key", "ctl_key")
  if r.batch ~= "batch-" .. run or redis.call("EXISTS", r.batch_key) == 0 then
    return
  end
  local p = fields(r.ctl_key, "waits_for", "run", "abort")
  for _, id in ipairs(p.run ~= p.abort and covers or {}) do
    if id == p.waits_for then
      redis.call("HSET", r.batch_key, "mode_before", redis.call("HGET", r.batch_key, "mode"), "mode", "none",
        "run_key", run_key)
      redis.call("HSET", run_key, "announce", "none")
      redis.call("HSET", r.ctl_key, "unread", r.batch_key)
    end
  end
end

-- A run that waited in a call has ended. An answer that it has not read is announced after all.
local function end_wait(ctl, run_key, due, now)
  local batch_key = redis.call("HGET", ctl, "unread")
  redis.call("HDEL", ctl, "waits_for", "waits_on", "unread")
  local b = batch_key and fields(batch_key, "id", "state", "mode_before", "run_key") or {}
  if not b.mode_before then
    return
  end
  redis.call("HSET", batch_key, "mode", b.mode_before)
  if redis.call("EXISTS", b.run_key) == 1 then
    redis.call("HSET", b.run_key, "announce", b.mode_before)
  end
  local r = fields(run_key, "id", "batch")
  if b.state == "none" and r.batch then
    fold_batch(run_key, r.id, batch_key)
  elseif b.state == "none" then
    redis.call("HSET", batch_key, "state", "settled")
    keep_batch(batch_key)
    redis.call("ZADD", due, now, "batch|" .. b.id)
  end
end

-- A child's run has ended. It is settled once its own children are; until then these are stopped.
local function settle_child(run_key, session, inbox, receipts, now, due, own_live, stop_orders)
  local r = fields(run_key, "id", "state", "error", "events_key", "ctl_key", "batch", "label", "metadata")
  if not r.batch then
    return 0
  end
  if r.state ~= "ok" then
    fold_announces(run_key, r.id, inbox, receipts, now)
    event(r.events_key, r.ctl_key, now, "subagent.failed", {
      run = r.id, session = session, label = r.label, state = r.state, error = r.error, raw = metadata_of(r.metadata),
    })
  end
  if open_batches(run_key) > 0 then
    order_stop(stop_orders, due, own_live, session, now, "parent-ended", r.id)
    return 0
  end
  count_child(run_key, now, due)
  return 1
end

-- Something came for a child that waits for its own children: the same run continues.
local function unpark(ctl, due, session, now, rewake_ms)
  redis.call("HSET", ctl, "state", "queued", "ready_at", 0, "wakes", 1, "woken_at", now)
  local run_key = redis.call("HGET", ctl, "run_key")
  redis.call("HSET", run_key, "state", "queued")
  mark_attempt(run_key, "woken", now)
  redis.call("ZADD", due, now + rewake_ms, "turn|" .. session)
end

-- The next child's place among its siblings: by the clock, and after all unsettled ones. So an order to stop the
-- children of a deleted session does not reach those of a new session with the same key.
local function spawn_place(ctl, live, now)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2]) or 0
  local place = math.max((tonumber(redis.call("HGET", ctl, "spawn_seq")) or 0) + 1, last + 1, now)
  redis.call("HSET", ctl, "spawn_seq", place)
  return place
end

-- To whom a child's next run is announced: facts about the parent from the batch of the last run, or nil for nobody. A
-- parent that is gone must not come back (rule 19).
local function reports_to(old_key)
  local r = fields(old_key, "batch_key", "spawn_mode", "ctl_key")
  local about = r.batch_key and fields(r.batch_key, "parent_session", "parent_session_id", "parent_run",
    "batches_key", "root", "mode",
    "parent_run_key", "above", "above_id", "mode_before")
  local nobody = not about or not about.parent_session or r.spawn_mode == "session" or redis.call("EXISTS",
    r.ctl_key) == 0
  return not nobody and about or nil
end

-- Which limit of `spawn` another run of this child would exceed; nil if none.
local function lacks_room(old_key)
  if not reports_to(old_key) then
    return nil -- it would be nobody's child
  end
  local l = fields(old_key, "live_key", "most_children", "tree_key", "most_tree")
  if l.most_children and redis.call("ZCARD", l.live_key) >= tonumber(l.most_children) then
    return "children"
  end
  return l.most_tree and redis.call("ZCARD", l.tree_key) >= tonumber(l.most_tree) and "tree" or nil
end

-- A message to a child whose run has ended starts another run, announced to the same parent in a batch of its own.
-- Limits were checked before (`lacks_room`); messages of people and results of its own children are never refused.
local function follow_up(old_key, run_key, run, batch_key, open_key, now)
  local about = reports_to(old_key)
  if not about then
    local old = fields(old_key, "timeout_ms", "spawn_mode")
    if old.spawn_mode == "run" then
      set_fields(run_key, old) -- its time limit outlives its parent
    end
    return
  end
  local copied = { "live_key", "tree_key", "events_key", "ctl_key", "children_key", "requester_session_key",
    "requester_session_id", "controller_session_key", "root_session_key", "parent_run_id", "depth", "role",
    "cleanup", "spawn_mode", "deliver",
    "label", "task", "metadata", "wake_on_descendant_settle", "timeout_ms", "most_children", "most_tree" }
  local old, batch = fields(old_key, unpack(copied)), "batch-" .. run
  set_fields(run_key, old)
  local mode = about.mode_before or about.mode -- a parent that waited for the last run need not wait for this one
  redis.call("HSET", run_key, "batch", batch, "batch_key", batch_key, "open_key", open_key, "batch_index", 0,
    "announce", mode)
  redis.call("HSET", batch_key, "id", batch, "state", "running", "mode", mode, "created_at", now, "parent_session",
    about.parent_session,
    "parent_session_id", about.parent_session_id, "parent_run", about.parent_run, "batches_key", about.batches_key,
    "root", about.root, "parent_run_key", about.parent_run_key,
    "above", about.above or "", "above_id", about.above_id or "",
    "members", cjson.encode({ run }), "member_keys", cjson.encode({ run_key }), "cleanup", "[]", "tries", 0,
    "v", SCHEMA)
  redis.call("SADD", open_key, run)
  redis.call("ZADD", about.batches_key, now, batch)
  count_batch(about.parent_run_key, 1)
  local seq = spawn_place(old.ctl_key, old.live_key, now)
  redis.call("HSET", run_key, "spawn_seq", seq)
  redis.call("ZADD", old.live_key, seq, run)
  if redis.call("EXISTS", old.children_key or "") == 1 then
    redis.call("ZADD", old.children_key, seq, run)
  end
  redis.call("ZADD", old.tree_key, now, run)
  local r = fields(run_key, "session_key", "label", "parent_run_id", "depth", "metadata")
  event(old.events_key, old.ctl_key, now, "subagent.spawned", {
    run = run, session = r.session_key, label = r.label, batch = batch, parentRun = r.parent_run_id,
    depth = tonumber(r.depth), raw = metadata_of(r.metadata), followUp = true,
  })
end
