--[[
  Become the process that receives for an account of a channel, or stay it.

  includes  clock, hashes, schema

  keys
    account  hash  account of a channel
  args
    token     text    token of the caller
    holder    text    host and process of the caller, for people
    lease_ms  number  how long a claim holds; 0 to give the account back

  Returns  {"claimed", offset or "", when it was set or 0}
           {"held", host and process of the holder}

  Invariant
    One process at a time receives for an account. A repeat by the holder renews the claim (rule 13).
]]
local now = now_ms()
local a = fields(account, "token", "until", "holder", "offset", "offset_at")
local ends = tonumber(a["until"]) or 0
-- A claim that ends later than that was given before the clock stepped back (rule 7).
local is_held = a.token and a.token ~= token and ends > now and ends <= now + math.max(lease_ms, 60000)
if is_held then
  return { "held", a.holder or "" }
end
if lease_ms == 0 then
  redis.call("HDEL", account, "token", "until", "holder")
else
  redis.call("HSET", account, "token", token, "until", now + lease_ms, "holder", holder, "v", SCHEMA)
end
return { "claimed", a.offset or "", tonumber(a.offset_at) or 0 }
