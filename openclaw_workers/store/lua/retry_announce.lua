--[[
  Make a failed announce due at once, with all its tries again.

  includes  clock, batches

  keys
    batch  hash  batch
    due    zset  index of due items
  args
    id  text  batch id

  Returns  {"due"} | {"no"}   there is no such batch, or it is delivered or still running

  Invariant
    Only a settled batch that nobody has received is announced again (rule 1).
]]
local state = redis.call("HGET", batch, "state")
if state ~= "blocked" and state ~= "settled" then
  return { "no" }
end
redis.call("HSET", batch, "state", "settled", "tries", 0)
keep_batch(batch)
redis.call("ZADD", due, now_ms(), "batch|" .. id)
return { "due" }
