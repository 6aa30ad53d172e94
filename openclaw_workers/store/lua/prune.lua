--[[
  Remove expired runs from the index, and the suspects of dead processes.

  includes  clock

  keys
    runs      zset  index of runs
    suspects  hash  worker -> the suspect run it carries
    workers   zset  index of workers
  args
    kept_ms  number  how long a run's record is kept

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
