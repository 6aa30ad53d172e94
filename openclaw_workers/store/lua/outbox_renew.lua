--[[
  Keep the routes that a sender holds, or give them back.

  includes  clock

  keys
    outbox_ready   zset  start of the key of an account's routes
    outbox_owners  hash  route -> token of the sender that holds it
  args
    lease_ms  number  how long a claim holds; 0 to give the routes back
    held…     text    for each route three: account, address, token

  Returns  {for each route "ok" or "lost"}

  Invariant
    Only the holder of a route renews it or gives it back.
]]
local now, answers = now_ms(), {}
for i = 1, #held, 3 do
  local account, address, token = unpack(held, i, i + 2)
  local ready = outbox_ready .. account
  if redis.call("HGET", outbox_owners, address) ~= token then
    answers[#answers + 1] = "lost"
  else
    redis.call("ZADD", ready, "XX", now + lease_ms, address)
    if lease_ms == 0 then
      redis.call("HDEL", outbox_owners, address)
    end
    answers[#answers + 1] = "ok"
  end
end
return answers
