--[[
  Wake sessions that wait for answers that will not come: the messages were cancelled, or their session is gone.

  includes  clock

  keys
    receipts  hash  receipts of the session
    waiters   hash  sessions that wait for this one's answers
    due       zset  index of due items

  Returns  {"done"}

  Invariant
    A session whose message may still be answered keeps waiting.
]]
local now = now_ms()

local all = redis.call("HGETALL", waiters)
for i = 1, #all, 2 do
  local state = cjson.decode(redis.call("HGET", receipts, all[i]) or '{"state":"gone"}').state
  if state ~= "accepted" and state ~= "bound" then
    redis.call("HDEL", waiters, all[i])
    redis.call("ZADD", due, now, "turn|" .. all[i + 1])
  end
end
return { "done" }
