--[[
  Session rows and the indexes that lead to them.
]]
-- Sessions are ordered by `updatedAt`. A deleted one must not come back (rule 19).
local function touch(sessions, session, now)
  redis.call("ZADD", sessions, "XX", now, session)
end

-- Unbind a session from its thread: messages there go where they went before.
local function unbind_thread(row, threads)
  local address = redis.call("HGET", row, "threadBinding")
  if address then
    redis.call("HDEL", threads, address)
    redis.call("HDEL", row, "threadBinding")
  end
end
