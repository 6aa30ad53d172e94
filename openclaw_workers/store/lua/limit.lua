--[[
  Ask to make a call within limits that all workers share. Those who must wait are served in order.

  includes  clock

  keys
    limit_keys…  keys  for each limit four: recent calls (zset: `tokens call` -> start), calls in progress (zset: run
                       -> when its place ends), the line (zset: run -> first request, microseconds), and (hash) when
                       each run last asked, with `call <run>` -> call id
  args
    verb       text    ask | done
    run        text    run id
    tokens     number  estimated tokens of the call
    keep_ms    number  how long a place is kept if nobody renews it
    silent_ms  number  how long a waiting run may be silent
    call       text    call id
    allowed…   json    for each limit: requests and tokens per minute, and concurrent calls; 0 for no limit

  Returns  {"go"} | {"wait", milliseconds until it is worth asking again} | {"done"}

  Invariant
    A call has a place in all of its limits or in none. A run that waits for one limit takes nothing from runs that
    need only others, and stands in line only where it is held up. Nobody overtakes a run that came first and still
    asks, except a run that already has a place. A place that nobody renews expires (`renew_reservation`). An owner
    that has lost its run gives back nothing that the next owner has asked for. Times in the future, left by a clock
    step, hold nobody up.
]]
local now, since = now_ms(), now_us()

local limits = {}
for i, each in ipairs(allowed) do
  local recent, working, line, asked = unpack(limit_keys, 4 * i - 3, 4 * i)
  limits[i] = { recent = recent, working = working, line = line, asked = asked, most = each }
end

local function leave(limit, place, who)
  redis.call("ZREM", place, who)
  if place == limit.line then
    redis.call("HDEL", limit.asked, who)
  end
  if not redis.call("ZSCORE", limit.working, who) and not redis.call("ZSCORE", limit.line, who) then
    redis.call("HDEL", limit.asked, "call " .. who)
  end
end

if verb == "done" then
  for _, limit in ipairs(limits) do
    if redis.call("HGET", limit.asked, "call " .. run) == call then
      leave(limit, limit.working, run)
      leave(limit, limit.line, run)
    end
  end
  return { "done" }
end
for _, limit in ipairs(limits) do
  since = math.min(since, tonumber(redis.call("ZSCORE", limit.line, run)) or since)
end

-- Whether another run that came first still waits here.
local function comes_later(limit)
  while true do
    local head = redis.call("ZRANGE", limit.line, 0, 0, "WITHSCORES")
    if not head[1] or head[1] == run or tonumber(head[2]) > since then
      return false
    end
    local asked_at = tonumber(redis.call("HGET", limit.asked, head[1])) or 0
    if asked_at > now then
      redis.call("HSET", limit.asked, head[1], now)
    end
    if now - asked_at <= silent_ms then
      return true
    end
    leave(limit, limit.line, head[1])
  end
end

-- Milliseconds until the oldest call leaves the minute.
local function minute_left(limit)
  local oldest = redis.call("ZRANGE", limit.recent, 0, 0, "WITHSCORES")
  return oldest[2] and math.max(50, tonumber(oldest[2]) + 60000 - now) or 50
end

local function tokens_of_minute(limit)
  local spent = 0
  for _, member in ipairs(redis.call("ZRANGE", limit.recent, 0, -1)) do
    spent = spent + tonumber(string.match(member, "^%d+"))
  end
  return spent
end

-- How long this limit holds the call up; nil if it does not.
local function held_up(limit)
  local most = limit.most
  redis.call("ZREMRANGEBYSCORE", limit.recent, "-inf", now - 60000)
  redis.call("ZREMRANGEBYSCORE", limit.recent, "(" .. now, "+inf")
  for _, before in ipairs(redis.call("ZRANGEBYSCORE", limit.working, "(" .. now + keep_ms, "+inf")) do
    redis.call("ZADD", limit.working, now + keep_ms, before)
  end
  for _, gone in ipairs(redis.call("ZRANGEBYSCORE", limit.working, "-inf", now)) do
    leave(limit, limit.working, gone)
  end
  local has_place = redis.call("ZSCORE", limit.working, run)
  -- Those in line may be waiting for the place that this run has.
  if not has_place and comes_later(limit) then
    return 200
  end
  if most.concurrent > 0 and not has_place and redis.call("ZCARD", limit.working) >= most.concurrent then
    return 200
  end
  if redis.call("ZSCORE", limit.recent, tokens .. " " .. call) then
    return nil -- a repeat
  end
  if most.requests > 0 and redis.call("ZCARD", limit.recent) >= most.requests then
    return minute_left(limit)
  end
  -- A call larger than the whole limit runs alone: waiting would not help.
  local spent = most.tokens > 0 and tokens_of_minute(limit) or 0
  return spent > 0 and spent + tokens > most.tokens and minute_left(limit) or nil
end

local wait_ms = 0
for _, limit in ipairs(limits) do
  limit.wait_ms = held_up(limit)
  wait_ms = math.max(wait_ms, limit.wait_ms or 0)
end
for _, limit in ipairs(limits) do
  if limit.wait_ms then
    redis.call("ZADD", limit.line, since, run)
    redis.call("HSET", limit.asked, run, now)
  else
    leave(limit, limit.line, run)
  end
  if wait_ms == 0 then
    redis.call("ZADD", limit.recent, "NX", now, tokens .. " " .. call)
    redis.call("ZADD", limit.working, now + keep_ms, run)
  end
  redis.call("HSET", limit.asked, "call " .. run, call)
  for _, key in ipairs({ limit.recent, limit.working, limit.line, limit.asked }) do
    redis.call("PEXPIRE", key, 3600000)
  end
end
if wait_ms > 0 then
  return { "wait", math.min(wait_ms, 1000) }
end
return { "go" }
