--[[
  Lanes: slots, the line of those who wait for one, and the queue of wake-ups.
]]
-- Push a wake-up into the lane's queue in the moment it becomes due. If there is none, the caller publishes.
local function push_wake(queue, wake)
  if wake == "" then
    return false
  end
  redis.call("LPUSH", queue, wake)
  return true
end

-- Rule 16: grant a freed slot to the head of the line, for a short time; `due` looks again if it is not used. Without a
-- cap nobody needs a slot: runs that still stand in line are woken a few at a time, and each wakes more when it ends.
local WOKEN_UNCAPPED = 20
local function grant(slots, line, due, cap, now, grant_ms)
  local granted = {}
  while cap > 0 and redis.call("ZCARD", slots) < cap or cap == 0 and #granted < 2 * WOKEN_UNCAPPED do
    local head = redis.call("ZPOPMIN", line)
    if not head[1] then
      break
    end
    local run, session = string.match(head[1], "^(%S+) (.+)$")
    if cap > 0 then
      redis.call("ZADD", slots, now + grant_ms, session)
    end
    redis.call("ZADD", due, now + grant_ms, "turn|" .. session)
    granted[#granted + 1] = run
    granted[#granted + 1] = session
  end
  return granted
end

-- Free the place in line and the slot of a run that does not continue now.
local function leave_lane(slots, line, run, session)
  redis.call("ZREM", line, run .. " " .. session)
  redis.call("ZREM", slots, session)
end

-- Whether a run may start: its session holds a slot, or one is free and nobody stands in line ahead of it.
local function has_room(slots, line, run, session, cap)
  if redis.call("ZSCORE", slots, session) then
    return true
  end
  local head = redis.call("ZRANGE", line, 0, 0)[1]
  return redis.call("ZCARD", slots) < cap and (not head or head == run .. " " .. session)
end

-- Wait in line for a slot, in the order of tickets. The sweep looks again after a minute in case a grant was lost.
local LINE_LOOK_MS = 60000
local function stand_in_line(line, due, run, session, ticket, now)
  redis.call("ZADD", line, ticket, run .. " " .. session)
  redis.call("ZADD", due, now + LINE_LOOK_MS, "turn|" .. session)
end
