--[[
  Claim what is due for a look, a bounded number, without scanning (rule 15).

  KEYS[1]  due               zset
  KEYS[2]  sweep             hash
  KEYS[3]  archives that wait for a writer at this place   set

  ARGV[1]  lease, milliseconds
  ARGV[2]  most items to claim
  ARGV[3]  how long a claim keeps other sweepers away, milliseconds

  Returns  {milliseconds until the next item is due or -1, item, item …}

  Invariant
    After a freeze or a clock step nobody is judged for one lease (rule 7): the first sweep to notice opens a grace.
]]
local due, sweep, waiting = KEYS[1], KEYS[2], KEYS[3]
local lease_ms, most, claim_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = now_ms()

local seen = redis.call("HMGET", sweep, "last", "grace_until")
local last, grace_until = tonumber(seen[1]), tonumber(seen[2]) or 0
if last and math.abs(now - last) > lease_ms / 2 then
  grace_until = now + lease_ms
end
redis.call("HSET", sweep, "last", now, "grace_until", grace_until)
if now < grace_until and grace_until <= now + lease_ms then
  return { grace_until - now }
end

local items = redis.call("ZRANGEBYSCORE", due, "-inf", now, "LIMIT", 0, most)
for _, item in ipairs(items) do
  redis.call("ZADD", due, now + claim_ms, item)
end
for _, item in ipairs(redis.call("SPOP", waiting, most)) do
  redis.call("ZADD", due, now + claim_ms, item)
  items[#items + 1] = item
end
local next_item = redis.call("ZRANGE", due, 0, 0, "WITHSCORES")
local answer = { next_item[2] and math.max(0, tonumber(next_item[2]) - now) or -1 }
for _, item in ipairs(items) do
  answer[#answer + 1] = item
end
return answer
