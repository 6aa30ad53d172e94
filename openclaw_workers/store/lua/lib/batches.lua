--[[
  Batches of children: counting, keeping and announcing them.

  includes  hashes, events, messages, transcripts, runs
]]
local CHORD_MS = 2000 -- how long a settled batch waits for its chord before the sweep announces it

-- Let a batch expire after so many seconds, or keep it while it waits to be announced. The records of its runs, and the
-- batches that they carry up, follow it. The texts of its runs may expire earlier.
local function keep_batch(batch, seconds, text_seconds)
  local function keep(key, length)
    if length then
      redis.call("EXPIRE", key, length)
    else
      redis.call("PERSIST", key)
    end
  end
  keep(batch, seconds)
  for _, run_key in ipairs(keys_in(batch, "member_keys")) do
    keep(run_key, seconds)
    keep(texts_key(run_key), text_seconds or seconds)
    local siblings = redis.call("HGET", run_key, "children_key") or ""
    if redis.call("TTL", siblings) > 0 then
      redis.call("EXPIRE", siblings, RUN_KEPT_S) -- its session is gone, but this index leads to what is carried up
    end
    for _, carried in ipairs(keys_in(run_key, "carried_keys")) do
      keep_batch(carried, seconds, text_seconds)
    end
  end
end

-- A run's announce will include the results of this batch, so the batch is kept as long as the run's own.
local function carry(run_key, batch_key)
  if redis.call("EXISTS", run_key) == 1 then
    local carried = keys_in(run_key, "carried_keys")
    carried[#carried + 1] = batch_key
    redis.call("HSET", run_key, "carried_keys", cjson.encode(carried))
    keep_batch(batch_key)
  end
end

-- Rule 4: count a settled child in its batch; the last one makes the batch due.
local function count_child(run_key, now, due)
  local r = fields(run_key, "id", "batch", "batch_key", "open_key", "live_key", "tree_key")
  if not r.batch or redis.call("SREM", r.open_key, r.id) == 0 then
    return
  end
  redis.call("HSET", run_key, "settled_at", now)
  redis.call("ZREM", r.live_key, r.id)
  redis.call("ZREM", r.tree_key, r.id)
  if redis.call("SCARD", r.open_key) == 0 and redis.call("EXISTS", r.batch_key) == 1 then
    redis.call("HSET", r.batch_key, "state", "settled", "settled_at", now)
    redis.call("ZADD", due, now + CHORD_MS, "batch|" .. r.batch)
  end
end

-- A child has ended before it read this batch: its own announce carries the results up. A batch that another run asked
-- for is noted in the child's record, because nothing else leads to it.
local function fold_batch(run_key, run, batch_key)
  redis.call("HSET", batch_key, "state", "folded", "folded_into", run)
  carry(run_key, batch_key)
  local b = fields(batch_key, "id", "parent_run")
  if b.id and b.parent_run ~= run then
    local foreign = cjson.decode(redis.call("HGET", run_key, "folded") or "[]")
    foreign[#foreign + 1] = b.id
    redis.call("HSET", run_key, "folded", cjson.encode(foreign))
  end
end

local function fold_announces(run_key, run, inbox, receipts, now)
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if is_announce(entry) then
      redis.call("ZREM", inbox, raw)
      receipt(receipts, entry, "cancelled", nil, now, "folded")
      fold_batch(run_key, run, entry.metadata.batch_key)
    end
  end
end

-- How many batches of a run are not announced yet. By run and not by session: a later run must not wait for the
-- children of an earlier one.
local function open_batches(run_key)
  return tonumber(redis.call("HGET", run_key, "open_batches")) or 0
end

-- An expired record must not come back (rule 19).
local function count_batch(run_key, change)
  if redis.call("EXISTS", run_key) == 1 then
    redis.call("HINCRBY", run_key, "open_batches", change)
  end
end

-- Rule 18: results for the old session do not enter the new one. They join the old transcript, which is archived next.
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
