--[[
  Remove expired runs from the index, and the suspects of dead processes, if nobody has done so for a while.

  includes  clock

  keys
    runs      zset  index of runs
    suspects  hash  worker -> the suspect run it carries
    workers   zset  index of workers
    sweep     hash  when sweeps ran, and when the index was pruned
  args
    kept_ms   number  how long a run's record is kept
    every_ms  number  how long to wait after the index was pruned
    most      number  most runs to remove in one step

  Returns  {"done"} | {"more"}   there may be more to remove

  Invariant
    The time is kept here, because workers may live shorter than that. A process that ticks again meanwhile keeps its
    suspect (rule 5).
]]
local now = now_ms()

local pruned_at = tonumber(redis.call("HGET", sweep, "pruned_at"))
if pruned_at and pruned_at <= now and now - pruned_at < every_ms then
  return { "done" }
end
local old = redis.call("ZRANGEBYSCORE", runs, "-inf", now - kept_ms, "LIMIT", 0, most)
for _, run in ipairs(old) do
  redis.call("ZREM", runs, run)
end
if #old == most then
  return { "more" }
end
redis.call("HSET", sweep, "pruned_at", now)
for _, worker in ipairs(redis.call("HKEYS", suspects)) do
  if not redis.call("ZSCORE", workers, worker) then
    redis.call("HDEL", suspects, worker)
  end
end
return { "done" }
