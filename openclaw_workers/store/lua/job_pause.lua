--[[
  Pause a job, or let it go on.

  includes  jobs

  keys
    job  hash  the job
    due  zset  index of due items
  args
    id       text  job id
    paused   text  why it is paused; empty: it goes on
    next_at  text  the time that is due next, if it goes on; empty for none

  Returns  {"ok"} | {"missing"}

  Invariant
    A paused job is not due. A repeat changes nothing (rule 13).
]]
if redis.call("EXISTS", job) == 0 then
  return { "missing" }
end
redis.call("HSET", job, "paused", paused)
if paused == "" then
  redis.call("HSET", job, "failures", 0, "retries", 0)
end
set_next(job, due, id, paused == "" and next_at or "")
return { "ok" }
