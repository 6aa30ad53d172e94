--[[
  The tree. A child's run record names the keys of its parent's side, as `spawn` was given them: whoever ends the run,
  wherever, finds them there. A run without `batch` is nobody's child.
]]
local PARENT_SIDE = { "batch", "k_batch", "k_open", "k_live", "k_tree", "k_events", "k_ctl" }

-- Rule 12: what the session spawned is to be stopped, or what one `run` of it has, up to the child spawned last; the sweep
-- sees to it if need be. What is to be stopped anyway is not ordered again because its parent has ended.
local function reap(reaps, due, live, session, now, reason, run)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2])
  if not last or run == "" then
    return
  end
  local order = run and run .. " " .. session or session
  for _, known in ipairs(reason == "parent-ended" and { session, order } or {}) do
    local raw = redis.call("HGET", reaps, known)
    if raw and cjson.decode(raw).upto >= last then
      return
    end
  end
  redis.call("HSET", reaps, order, cjson.encode({ upto = last, reason = reason, run = run }))
  redis.call("ZADD", due, now, "reap|" .. order)
end

-- Rule 4: count a settled child in its batch; the last one makes the batch due.
local function count_child(run_key, now, due)
  local r = redis.call("HMGET", run_key, "id", unpack(PARENT_SIDE))
  local run, batch, k_batch, open = r[1], r[2], r[3], r[4]
  if not batch or redis.call("SREM", open, run) == 0 then
    return
  end
  redis.call("HSET", run_key, "settled_at", now)
  redis.call("ZREM", r[5], run)
  redis.call("ZREM", r[6], run)
  if redis.call("SCARD", open) == 0 and redis.call("EXISTS", k_batch) == 1 then
    redis.call("HSET", k_batch, "state", "settled", "settled_at", now)
    redis.call("ZADD", due, now + CHORD_MS, "batch|" .. batch)
  end
end

-- A batch that came for a child, which will not hear it any more: its own announce carries it up. One that another run
-- had asked for is entered in its record, because nothing else would lead to it.
local function fold_batch(run_key, run, k_batch)
  redis.call("HSET", k_batch, "state", "folded", "folded_into", run)
  carry(run_key, k_batch)
  local b = redis.call("HMGET", k_batch, "id", "parent_run")
  if b[1] and b[2] ~= run then
    local foreign = cjson.decode(redis.call("HGET", run_key, "folded") or "[]")
    foreign[#foreign + 1] = b[1]
    redis.call("HSET", run_key, "folded", cjson.encode(foreign))
  end
end

local function fold_announces(run_key, run, inbox, receipts, now)
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if is_announce(entry) then
      redis.call("ZREM", inbox, raw)
      receipt(receipts, entry, "cancelled", nil, now, "folded")
      fold_batch(run_key, run, entry.metadata.k_batch)
    end
  end
end

-- A follow-up whose parent waits in a call for one of the messages it answered is read there, and not announced too.
local function leave_to_waiter(run_key, run, covers)
  local r = redis.call("HMGET", run_key, "batch", "k_batch", "k_ctl")
  if r[1] ~= "batch-" .. run or redis.call("EXISTS", r[2]) == 0 then
    return
  end
  local p = redis.call("HMGET", r[3], "waits_for", "run", "abort")
  for _, id in ipairs(p[2] ~= p[3] and covers or {}) do
    if id == p[1] then
      redis.call("HSET", r[2], "mode_before", redis.call("HGET", r[2], "mode"), "mode", "none", "k_run", run_key)
      redis.call("HSET", run_key, "announce", "none")
      redis.call("HSET", r[3], "unread", r[2])
    end
  end
end

-- A run ends that waited in a call. What it has not read of the answer is announced after all.
local function end_wait(ctl, run_key, due, now)
  local k_batch = redis.call("HGET", ctl, "unread")
  redis.call("HDEL", ctl, "waits_for", "waits_on", "unread")
  local b = k_batch and redis.call("HMGET", k_batch, "id", "state", "mode_before", "k_run") or {}
  if not b[3] then
    return
  end
  redis.call("HSET", k_batch, "mode", b[3])
  if redis.call("EXISTS", b[4]) == 1 then
    redis.call("HSET", b[4], "announce", b[3])
  end
  local r = redis.call("HMGET", run_key, "id", "batch")
  if b[2] == "none" and r[2] then
    fold_batch(run_key, r[1], k_batch)
  elseif b[2] == "none" then
    redis.call("HSET", k_batch, "state", "settled")
    keep_batch(k_batch)
    redis.call("ZADD", due, now, "batch|" .. b[1])
  end
end

-- How many of the batches that a run spawned are not announced yet. By run and not by session: a later run of the same
-- session must not wait for what an earlier one left behind.
local function open_batches(run_key)
  return tonumber(redis.call("HGET", run_key, "open_batches")) or 0
end

-- A child's run has ended. It counts as settled once what it spawned has settled too; until then that is stopped.
local function settle_child(run_key, session, inbox, receipts, now, due, own_live, reaps)
  local r = redis.call("HMGET", run_key, "id", "state", "error", "k_events", "k_ctl", "batch", "label", "metadata")
  if not r[6] then
    return 0
  end
  if r[2] ~= "ok" then
    fold_announces(run_key, r[1], inbox, receipts, now)
    tell(r[4], r[5], now, "subagent.failed", {
      run = r[1], session = session, label = r[7], state = r[2], error = r[3], raw = metadata_of(r[8]),
    })
  end
  if open_batches(run_key) > 0 then
    reap(reaps, due, own_live, session, now, "parent-ended", r[1])
    return 0
  end
  count_child(run_key, now, due)
  return 1
end

-- Something came for a child that waits for its children: the same run goes on.
local function unpark(ctl, due, session, now, rewake_ms)
  redis.call("HSET", ctl, "state", "queued", "ready_at", 0, "wakes", 1, "woken_at", now)
  redis.call("HSET", redis.call("HGET", ctl, "run_key"), "state", "queued")
  redis.call("ZADD", due, now + rewake_ms, "turn|" .. session)
end

-- A record that has expired must not come back by it (rule 19).
local function count_batch(run_key, change)
  if redis.call("EXISTS", run_key) == 1 then
    redis.call("HINCRBY", run_key, "open_batches", change)
  end
end

-- The next child's place among its siblings: by the clock, and after all that are at work, so that in a session that was
-- deleted and begun anew it lies beyond what an order to stop the old children reaches.
local function spawn_place(ctl, live, now)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2]) or 0
  local place = math.max((tonumber(redis.call("HGET", ctl, "spawn_seq")) or 0) + 1, last + 1, now)
  redis.call("HSET", ctl, "spawn_seq", place)
  return place
end

-- To whom a child's next run would be announced: what the batch of its last one says of them, or nil for nobody. A parent
-- that is gone must not come back by it (rule 19).
local function reports_to(old_key)
  local r = redis.call("HMGET", old_key, "k_batch", "spawn_mode", "k_ctl")
  local about = r[1] and redis.call("HMGET", r[1], "parent_session", "parent_session_id", "parent_run", "k_batches", "root", "mode",
    "k_parent_run", "above", "above_id", "mode_before")
  local nobody = not about or not about[1] or r[2] == "session" or redis.call("EXISTS", r[3]) == 0
  return not nobody and about or nil
end

-- Which limit of the tree another run after this one would break, as `spawn` was given them; nil if none.
local function lacks_room(old_key)
  if not reports_to(old_key) then
    return nil -- it would be nobody's child
  end
  local l = redis.call("HMGET", old_key, "k_live", "most_children", "k_tree", "most_tree")
  if l[2] and redis.call("ZCARD", l[1]) >= tonumber(l[2]) then
    return "children"
  end
  return l[4] and redis.call("ZCARD", l[3]) >= tonumber(l[4]) and "tree" or nil
end

-- A message to a child whose run is over starts another run, announced to the same parent in a batch of its own. Whoever
-- may be refused is so before (`lacks_room`); messages of people and results of its own children always have room.
local function follow_up(old_key, run_key, run, k_batch, k_open, now)
  local about = reports_to(old_key)
  if not about then
    return
  end
  local copied = { "k_live", "k_tree", "k_events", "k_ctl", "k_children", "requester_session_key",
    "requester_session_id", "controller_session_key", "root_session_key", "parent_run_id", "depth", "role", "cleanup", "spawn_mode", "deliver",
    "label", "task", "metadata", "wake_on_descendant_settle", "timeout_ms", "most_children", "most_tree" }
  local old, batch = redis.call("HMGET", old_key, unpack(copied)), "batch-" .. run
  for i, field in ipairs(copied) do
    if old[i] then
      redis.call("HSET", run_key, field, old[i])
    end
  end
  local mode = about[10] or about[6] -- that its parent waited for the last one holds for that one alone
  redis.call("HSET", run_key, "batch", batch, "k_batch", k_batch, "k_open", k_open, "batch_index", 0, "announce", mode)
  redis.call("HSET", k_batch, "id", batch, "state", "running", "mode", mode, "created_at", now, "parent_session", about[1],
    "parent_session_id", about[2], "parent_run", about[3], "k_batches", about[4], "root", about[5], "k_parent_run", about[7],
    "above", about[8] or "", "above_id", about[9] or "",
    "members", cjson.encode({ run }), "k_members", cjson.encode({ run_key }), "cleanup", "[]", "tries", 0)
  redis.call("SADD", k_open, run)
  redis.call("ZADD", about[4], now, batch)
  count_batch(about[7], 1)
  local seq = spawn_place(old[4], old[1], now)
  redis.call("HSET", run_key, "spawn_seq", seq)
  redis.call("ZADD", old[1], seq, run)
  if redis.call("EXISTS", old[5] or "") == 1 then
    redis.call("ZADD", old[5], seq, run)
  end
  redis.call("ZADD", old[2], now, run)
  local told = redis.call("HMGET", run_key, "session_key", "label", "parent_run_id", "depth", "metadata")
  tell(old[3], old[4], now, "subagent.spawned", {
    run = run, session = told[1], label = told[2], batch = batch, parentRun = told[3], depth = tonumber(told[4]),
    raw = metadata_of(told[5]), followUp = true,
  })
end

-- A session that was bound to a thread is so no more: what is said there goes where it went before.
local function unbind_thread(row, threads)
  local address = redis.call("HGET", row, "threadBinding")
  if address then
    redis.call("HDEL", threads, address)
    redis.call("HDEL", row, "threadBinding")
  end
end

-- Rule 18: results that wait for a life that is over are not said in the next one. They join the transcript that asked
-- for them, which is cut off next.
local function drop_announces(inbox, log, receipts, events, ctl, now)
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if is_announce(entry) then
      redis.call("ZREM", inbox, raw)
      redis.call("RPUSH", log, user_entry({ entry }, nil, now, "subagent"))
      receipt(receipts, entry, "cancelled", nil, now, "session-reset")
      event(events, ctl, now, "subagent.discarded", {
        id = entry.id, reason = "session-reset", batch = entry.metadata.batch,
        raw = { runs = readable(entry.metadata.runs, "[]") },
      })
    end
  end
end
