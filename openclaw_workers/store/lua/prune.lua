--[[
  Forget in the index the runs whose records have expired, and the suspects of processes long dead.

  KEYS[1]  runs              zset
  KEYS[2]  suspects          hash
  KEYS[3]  workers           zset

  ARGV[1]  how long a run's record is kept, milliseconds

  Returns  {"ok"}

  Invariant
    A process that ticks again meanwhile keeps its suspect (rule 5).
]]
local runs, suspects, workers = KEYS[1], KEYS[2], KEYS[3]
local kept_ms = tonumber(ARGV[1])

redis.call("ZREMRANGEBYSCORE", runs, "-inf", now_ms() - kept_ms)
for _, worker in ipairs(redis.call("HKEYS", suspects)) do
  if not redis.call("ZSCORE", workers, worker) then
    redis.call("HDEL", suspects, worker)
  end
end
return { "ok" }
