--[[
  Session rows and the indexes that lead to them.
]]
-- The order of sessions follows their `updatedAt`; one that was deleted must not come back by it (rule 19).
local function touch(sessions, session, now)
  redis.call("ZADD", sessions, "XX", now, session)
end

-- A session that was bound to a thread is so no more: what is said there goes where it went before.
local function unbind_thread(row, threads)
  local address = redis.call("HGET", row, "threadBinding")
  if address then
    redis.call("HDEL", threads, address)
    redis.call("HDEL", row, "threadBinding")
  end
end
