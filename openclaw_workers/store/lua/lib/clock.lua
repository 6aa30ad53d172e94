--[[
  Times are milliseconds by Redis TIME, which every process shares.

  includes  hashes
]]
local function now_ms()
  local t = redis.call("TIME")
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function now_us()
  local t = redis.call("TIME")
  return t[1] * 1000000 + t[2]
end

-- Rule 7: after a freeze or a clock step every lease looks expired, so nobody may be judged by it yet.
local function in_grace(sweep, now, lease_ms)
  local seen = fields(sweep, "last", "grace_until")
  local last, grace_until = tonumber(seen.last) or now, tonumber(seen.grace_until) or 0
  return math.abs(now - last) > lease_ms / 2 or (now < grace_until and grace_until <= now + lease_ms)
end

-- When a lease ends. A lease that seems to end later than one lease from now was written before the clock stepped back.
-- It ends earlier by that step, or one lease from now if the step is not known.
local function lease_end(sweep, ends, now, lease_ms)
  if ends <= now + lease_ms then
    return ends
  end
  local step = fields(sweep, "stepped_at", "stepped_by")
  local is_recent = step.stepped_at and math.abs(now - step.stepped_at) < 4 * lease_ms
  return math.min(is_recent and ends - step.stepped_by or ends, now + lease_ms)
end

-- When a debounced run may start. If `woken_at` is in the future, the clock stepped back, and the run has waited
-- enough.
local function starts_at(ready_at, woken_at, now)
  return (tonumber(woken_at) or 0) <= now and tonumber(ready_at) or 0
end

local FORGET_MS = 1000 -- how long after a record expires a sweep looks
