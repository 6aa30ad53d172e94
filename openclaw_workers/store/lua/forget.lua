--[[
  Remove a blocked batch from the index of its session once its record has expired.

  includes  clock

  keys
    batch    hash  batch
    batches  zset  unannounced batches of the session that spawned it
    due      zset  index of due items
  args
    id    text  batch id
    item  text  its item in `due`

  Returns  {"forgotten"}
           {"later"}   it is still blocked and not expired
           {"known"}   it is tried again or was announced, and cleans up after itself

  Invariant
    Only a batch whose record is gone leaves the index (rule 19).
]]
local state = redis.call("HGET", batch, "state")
if state == "blocked" then
  redis.call("ZADD", due, now_ms() + math.max(0, redis.call("PTTL", batch)) + FORGET_MS, item)
  return { "later" }
end
redis.call("ZREM", due, item)
if state then
  return { "known" }
end
redis.call("ZREM", batches, id)
return { "forgotten" }
