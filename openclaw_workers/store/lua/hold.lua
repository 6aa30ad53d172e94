--[[
  Keep what a model call has taken from limits and budgets while the call lasts.

  includes  clock, reservations

  keys
    held…  keys  for each limit two: calls in progress (zset) and their call ids (hash), as in `limit`; then for each
                 budget two: spent (hash), reserved (hash: run -> JSON)
  args
    run        text    run id
    call       text    call id
    keep_ms    number  how long it is kept from now on
    limits     number  how many limits there are
    lasted_ms  number  how long the call has lasted; 0 while it waits to begin
    allowed…   number  seconds that each budget allows; 0 for no limit

  Returns  {"ok", milliseconds until the seconds of a budget are used up; -1 if none is limited}
           {"over", which budget, from 1, seconds spent including calls in progress, limit}

  Invariant
    Nothing that has expired comes back, and nothing that another call of the run has taken since is touched. The
    duration of a call is not known in advance, so the seconds of all calls in progress count while they pass.
]]
local first_budget = 1 + 2 * limits
local now = now_ms()
local ends = now + keep_ms

for i = 1, first_budget - 1, 2 do
  if redis.call("HGET", held[i + 1], "call " .. run) == call then
    redis.call("ZADD", held[i], "XX", ends, run)
  end
end

-- How many calls are in progress, and how many seconds they have lasted together.
local function passing(reserved_key)
  local seconds, count = 0, 0
  for _, raw in ipairs(redis.call("HVALS", reserved_key)) do
    local each = reserved(raw)
    if each and tonumber(each["until"]) > now then
      seconds, count = seconds + lasted_seconds(each, now), count + 1
    end
  end
  return seconds, count
end

local left_ms = -1
for i = first_budget, #held, 2 do
  local reservation = reserved(redis.call("HGET", held[i + 1], run) or "")
  if reservation and reservation.call == call then
    reservation["until"], reservation.since = ends, now - lasted_ms
    redis.call("HSET", held[i + 1], run, cjson.encode(reservation))
    local number = (i - first_budget) / 2
    local limit = allowed[number + 1]
    if limit > 0 then
      local passed, count = passing(held[i + 1])
      local spent = (tonumber(redis.call("HGET", held[i], "seconds") or 0) or 0) + passed
      if spent >= limit then
        return { "over", number + 1, tostring(spent), tostring(limit) }
      end
      local left = math.ceil((limit - spent) * 1000 / count)
      left_ms = left_ms < 0 and left or math.min(left_ms, left)
    end
  end
end
return { "ok", left_ms }
