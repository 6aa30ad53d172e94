--[[
  Scheduled jobs. A job's record holds `job` (JSON), `next_at` (the time that is due next), `paused` and how it stands.

  includes  hashes, schema
]]
local LOG_KEPT_S = 7 * 86400
local FIRING_LOOK_MS = 15000

-- A job that has no further time is looked at once more, and then removed.
local JOB_KEPT_MS = 30 * 86400000

-- The job is due next at this time; empty: never.
local function set_next(job, due, id, next_at)
  if next_at == "" then
    redis.call("HDEL", job, "next_at")
    redis.call("ZREM", due, "job|" .. id)
  else
    redis.call("HSET", job, "next_at", next_at)
    redis.call("ZADD", due, next_at, "job|" .. id)
  end
end

-- The job has no further time, and nobody has paused it: it is not kept for ever.
local function retire_job(due, id, now)
  redis.call("ZADD", due, now + JOB_KEPT_MS, "job|" .. id)
end

-- Whether a job waits for exactly this time. A second caller finds that it no longer does.
local function waits_for_time(job, at)
  local j = fields(job, "next_at", "paused")
  return j.next_at == at and (j.paused or "") == ""
end

-- A line for the job's run log, newest first, and how the job stands.
local function log_firing(job, log, kept, now, line)
  line.at, line.v = now, SCHEMA
  redis.call("LPUSH", log, cjson.encode(line))
  redis.call("LTRIM", log, 0, kept - 1)
  redis.call("EXPIRE", log, LOG_KEPT_S)
  if redis.call("EXISTS", job) == 1 then
    redis.call("HSET", job, "last_at", line.time, "last_state", line.state, "last_error", line.reason or "")
  end
end

-- Note that a firing is at work. A sweep looks whether it has ended.
local function open_firing(firings, due, id, at, session, message, now)
  redis.call("HSET", firings, at, cjson.encode({ v = SCHEMA, session = session, message = message, at = now }))
  redis.call("ZADD", due, now + FIRING_LOOK_MS, "firing|" .. id .. " " .. at)
end
