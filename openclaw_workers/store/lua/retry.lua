--[[
  Let an announce that failed be tried again at once, with all its tries before it.

  includes  clock, batches

  keys
    batch  hash  batch
    due    zset  due
  args
    id  text  batch id

  Returns  {"due"} | {"no"}   where there is no such batch, or it is delivered or still at work

  Invariant
    Only a settled batch that nobody has heard of is announced again (rule 1).
]]
local state = redis.call("HGET", batch, "state")
if state ~= "blocked" and state ~= "settled" then
  return { "no" }
end
redis.call("HSET", batch, "state", "settled", "tries", 0)
keep_batch(batch)
redis.call("ZADD", due, now_ms(), "batch|" .. id)
return { "due" }
