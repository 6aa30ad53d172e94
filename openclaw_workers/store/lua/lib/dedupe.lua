--[[
  A message that its channel delivers twice gets the reply of the first delivery.

  includes  schema
]]
-- A channel may deliver a message again, even after its thread was bound to another session. The reply to the first
-- delivery is kept for `keep_s` seconds; 0 if the channel delivers once.
local function first_reply(dedupe, keep_s)
  local reply = keep_s > 0 and redis.call("HGET", dedupe, "reply")
  return reply and cjson.decode(reply) or nil
end

local function keep_reply(dedupe, keep_s, reply)
  if keep_s > 0 then
    redis.call("HSET", dedupe, "reply", cjson.encode(reply), "v", SCHEMA)
    redis.call("EXPIRE", dedupe, keep_s)
  end
  return reply
end
