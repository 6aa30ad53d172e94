--[[
  Session rows and the indexes that lead to them.

  includes  schema, hashes
]]
-- Write the row of a new session: what every session has, and fields of its own.
local function create_row(row, session, agent, session_id, now, own)
  redis.call("HSET", row, "sessionKey", session, "agentId", agent, "sessionId", session_id, "createdAt", now,
    "updatedAt", now, "sessionStartedAt", now, "lastInteractionAt", now, "v", SCHEMA)
  set_fields(row, own)
end

-- Sessions are ordered by `updatedAt`. A deleted one must not come back (rule 19).
local function touch(sessions, session, now)
  redis.call("ZADD", sessions, "XX", now, session)
end

-- Give a session another label, or none. Labels lead to the sessions that have them, the newest first. Call it before
-- the row is changed.
local function set_label(label_prefix, row, session, label, now)
  local old = redis.call("HGET", row, "label")
  if old == label then
    return
  end
  local before, after = label_prefix .. (old or ""), label_prefix .. label
  redis.call("ZREM", before, session)
  if label ~= "" then
    redis.call("ZADD", after, now, session)
  end
end

-- A session that was spawned is in the index of the session that spawned it, until it is deleted.
local function forget_spawned(ctl, session)
  local spawned_key = redis.call("HGET", ctl, "spawned_key")
  if spawned_key then
    redis.call("ZREM", spawned_key, session)
  end
end

-- Unbind a session from its thread: messages there go where they went before.
local function unbind_thread(row, threads)
  local address = redis.call("HGET", row, "threadBinding")
  if address then
    redis.call("HDEL", threads, address)
    redis.call("HDEL", row, "threadBinding")
  end
end
