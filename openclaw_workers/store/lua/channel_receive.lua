--[[
  Store what a channel delivered, and how far it was asked for. Only then may the channel forget it.

  includes  clock, memory, schema

  keys
    account           hash  account of a channel
    received          hash  number of an update -> update (JSON), until it was handled
    memory            hash  how full Redis is
  args
    token      text  token of the process that receives; empty if the channel itself called
    offset     text  number of the next update to ask for; empty if it stays
    updates…   text  for each update two: its number, the update (JSON)

  Returns  {"received", updates that wait to be handled}
           {"lost"}   another process receives for this account
           {"memory", percentage of memory in use}   nothing was changed

  Invariant
    The offset moves only together with the updates before it. A process that lost the account does not move it. An
    update that comes again before it was handled is kept once (rule 13).
]]
if token ~= "" and redis.call("HGET", account, "token") ~= token then
  return { "lost" }
end
local percent = #updates > 0 and lacks_memory(memory)
if percent then
  return { "memory", percent }
end
local now = now_ms()
for i = 1, #updates, 2 do
  -- NX: the same update may come again while the first one is being handled.
  redis.call("HSETNX", received, updates[i], updates[i + 1])
end
if #updates > 0 then
  redis.call("HSET", account, "last_update_at", now, "v", SCHEMA)
end
if token ~= "" then
  redis.call("HSET", account, "last_poll_at", now)
end
if offset ~= "" then
  redis.call("HSET", account, "offset", offset, "offset_at", now)
end
return { "received", redis.call("HLEN", received) }
