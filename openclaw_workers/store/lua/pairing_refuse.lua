--[[
  Note that somebody was refused, for the owner to see.

  includes  clock, schema

  keys
    refusals  hash  who was refused: subject -> JSON
    refused   zset  subject -> when it was last refused
  args
    subject  text    who was refused
    message  text    id of the message; the same each time the channel delivers it
    about    json    what is known about it, and why it was refused
    most     number  how many are kept, the latest ones

  Returns  {"noted", how often it was refused}

  Invariant
    No more than `most` are kept. A message that is delivered again counts once.
]]
local now = now_ms()
about.v = SCHEMA
local known = redis.call("HGET", refusals, subject)
local before = known and cjson.decode(known) or { count = 0, firstAt = now }
if before.message == message then
  return { "noted", before.count }
end
about.count, about.firstAt, about.lastAt, about.message = before.count + 1, before.firstAt, now, message
redis.call("HSET", refusals, subject, cjson.encode(about))
redis.call("ZADD", refused, now, subject)
for _, old in ipairs(redis.call("ZRANGE", refused, 0, -most - 1)) do
  redis.call("HDEL", refusals, old)
  redis.call("ZREM", refused, old)
end
return { "noted", about.count }
