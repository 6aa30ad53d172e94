--[[
  Forget a blocked batch whose time is over: its session does not wait for it any more.

  includes  clock

  keys
    batch    hash  batch
    batches  zset  unfinished batches of the session that spawned it
    due      zset  due
  args
    id    text  batch id
    item  text  its item in due

  Returns  {"forgotten"} | {"later"}   it is blocked, and kept until then
           {"known"}                   it is tried again, or was announced; that clears up after itself

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
