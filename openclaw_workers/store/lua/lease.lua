--[[
  Take, renew or give up a lease that is a single key.

  keys
    lease  string  token of the holder
  args
    token     text    token of the caller
    lease_ms  number  how long it holds; 0 gives it up

  Returns  {"held"}          the caller holds it now
           {"given_up"}      the caller no longer holds it
           {"other", token}  somebody else holds it

  Invariant
    One holder at a time. Only the holder renews it or gives it up. A repeat changes nothing but the end.
]]
local holder = redis.call("GET", lease)
if lease_ms == 0 then
  if holder == token then
    redis.call("DEL", lease)
  end
  return { "given_up" }
end
if holder and holder ~= token then
  return { "other", holder }
end
redis.call("SET", lease, token, "PX", lease_ms)
return { "held" }
