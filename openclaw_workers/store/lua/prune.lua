--[[
  Forget in the index the runs whose records have expired, and the suspects of processes long dead.

  includes  clock

  keys
    runs      zset  runs
    suspects  hash  suspects
    workers   zset  workers
  args
    kept_ms  number  how long a run's record is kept, milliseconds

  Returns  {"ok"}

  Invariant
    A process that ticks again meanwhile keeps its suspect (rule 5).
]]

redis.call("ZREMRANGEBYSCORE", runs, "-inf", now_ms() - kept_ms)
for _, worker in ipairs(redis.call("HKEYS", suspects)) do
  if not redis.call("ZSCORE", workers, worker) then
    redis.call("HDEL", suspects, worker)
  end
end
return { "ok" }
