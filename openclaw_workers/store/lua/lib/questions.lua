--[[
  Questions to people that a run waits for.

  includes  hashes, events
]]
-- Whether a question can still be answered: nobody has, its time is not over, and the run that asked goes on.
local function is_open(q, c, now)
  return q.state == "waiting" and q.run == c.run and c.abort ~= q.run and now < (tonumber(q.expires_at) or 0)
end

-- End the wait for a question. The time that was kept for it and not used is taken from the run's deadline again.
local function close_question(question, open, waiting, ctl, events, id, state, now)
  local q = fields(question, "expires_at", "run_key", "run", "kind")
  local deadline = tonumber(redis.call("HGET", q.run_key, "deadline_at"))
  if deadline then
    redis.call("HSET", q.run_key, "deadline_at", deadline - math.max(0, (tonumber(q.expires_at) or now) - now))
  end
  redis.call("HSET", question, "state", state, "answered_at", now)
  redis.call("ZREM", open, id)
  redis.call("HDEL", waiting, id)
  redis.call("HDEL", ctl, "asks")
  event(events, ctl, now, "question." .. state, { id = id, run = q.run, kind = q.kind })
end
