--[[
  Note that a part is about to be sent, and what its message was rendered to.

  includes  clock, hashes

  keys
    entry_key      hash  message
    parts_key      list  its parts
    ready          zset  routes of the account
    outbox_owners  hash  route -> token of the sender that holds it
  args
    address   text    route
    token     text    token of the caller's claim
    part      number  index of the part
    lease_ms  number  how long a claim holds
    parts…    text    the parts of the message (JSON), if it was just rendered

  Returns  {"ok"} | {"lost"}

  Invariant
    Only the holder of the route sends. What is sent was stored before, and `sending` is written before the send
    (rule 17). A repeat changes nothing (rule 13).
]]
if redis.call("HGET", outbox_owners, address) ~= token then
  return { "lost" }
end
local e, now = fields(entry_key, "state", "parts", "next"), now_ms()
if not e.state or (e.state ~= "queued" and e.state ~= "sending") or tonumber(e.next) ~= part then
  return { "lost" } -- a person dropped it
end
if e.parts == "0" and #parts > 0 then
  for _, each in ipairs(parts) do
    redis.call("RPUSH", parts_key, each)
  end
  redis.call("HSET", entry_key, "parts", #parts)
end
redis.call("HSET", entry_key, "state", "sending", "token", token, "sending_at", now)
redis.call("ZADD", ready, "XX", now + lease_ms, address)
return { "ok" }
