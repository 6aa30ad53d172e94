--[[
  Remove a job. Firings that are at work end by themselves.

  includes  jobs

  keys
    jobs     zset  job id -> when it was made
    job      hash  the job
    due      zset  index of due items
    firings  hash  its firings that have not ended
  args
    id  text  job id

  Returns  {"removed"} | {"missing"}

  Invariant
    A removed job does not fire: a worker that has claimed it finds no time to fire (rule 19).
]]
local removed = redis.call("DEL", job)
redis.call("ZREM", jobs, id)
redis.call("ZREM", due, "job|" .. id)
redis.call("EXPIRE", firings, LOG_KEPT_S)
return { removed == 1 and "removed" or "missing" }
