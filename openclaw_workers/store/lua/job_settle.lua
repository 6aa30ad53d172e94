--[[
  Record how a firing ended, and what follows for its job.

  includes  clock, hashes, jobs

  keys
    jobs     zset  job id -> when it was made
    job      hash  the job
    firings  hash  its firings that have not ended
    log      list  its run log
    due      zset  index of due items
  args
    id            text    job id
    at            text    the scheduled time
    state         text    ok | error
    reason        text    why it failed
    run           text    run id
    session       text    session key
    kept          number  most lines of the run log
    most          number  failures in a row after which the job is paused
    removes       flag    whether the job is removed after a success
    is_transient  flag    whether the failure may pass
    retries       json    milliseconds until each further try

  Returns  {"settled", "" | "paused" | "removed" | "retried"} | {"known"}

  Invariant
    A firing ends once (rule 13). A failure that may pass is tried again before the next regular time; one that does not
    ends a job with a single time. After so many failures in a row the job is paused.
]]
if redis.call("HDEL", firings, at) == 0 then
  return { "known" }
end
local now = now_ms()
redis.call("ZREM", due, "firing|" .. id .. " " .. at)
log_firing(job, log, kept, now, { time = tonumber(at), state = state, reason = reason, session = session, run = run })
-- Somebody removed the job while it ran. Its log stays for a while.
if redis.call("EXISTS", job) == 0 then
  return { "settled", "" }
end
if state == "ok" then
  redis.call("HSET", job, "failures", 0, "retries", 0)
  if removes then
    redis.call("DEL", job)
    redis.call("ZREM", jobs, id)
    redis.call("ZREM", due, "job|" .. id)
    return { "settled", "removed" }
  end
  return { "settled", "" }
end
local failures = redis.call("HINCRBY", job, "failures", 1)
local j = fields(job, "next_at", "retries", "paused")
if failures >= most then
  redis.call("HSET", job, "paused", failures .. " failures in a row")
  set_next(job, due, id, "")
  return { "settled", "paused" }
end
local tried = tonumber(j.retries) or 0
local delay = is_transient and (j.paused or "") == "" and retries[tried + 1]
-- A retry after the next regular time would come too late to matter.
if delay and (not j.next_at or now + delay < tonumber(j.next_at)) then
  redis.call("HSET", job, "retries", tried + 1)
  set_next(job, due, id, string.format("%.0f", now + delay))
  return { "settled", "retried" }
end
if not j.next_at and (j.paused or "") == "" then
  redis.call("HSET", job, "paused", "it failed, and no further time is due")
  retire_job(due, id, now)
  return { "settled", "paused" }
end
return { "settled", "" }
