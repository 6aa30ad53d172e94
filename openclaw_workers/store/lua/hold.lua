--[[
  Hold on to what a model call has taken from limits and budgets, for as long as it lasts: its owner is alive.

  includes  clock, reservations

  keys
    held…  keys  for each limit two: calls at work (zset) and what they are about (hash), as in `limit`; then for each
                 budget two: what is spent (hash), and what is reserved (hash: run -> JSON)
  args
    run        text    run id
    call       text    id of the call
    keep_ms    number  how long it is kept from now on, milliseconds
    limits     number  how many limits there are
    lasted_ms  number  how long the call has lasted, milliseconds; 0 while it waits to begin
    allowed…   number  for each budget how many seconds it allows; 0 for no limit

  Returns  {"ok", milliseconds until its seconds are used up, if nothing changes; -1 if that is not limited}
           {"over", which budget, from 1, seconds spent with those of the calls under way, limit}

  Invariant
    It gives nothing back that has ended, and touches nothing that another call of the run has taken since. Time is what
    a call cannot be told beforehand: so it counts while it passes, that of all calls under way together.
]]
local first_budget = 1 + 2 * limits
local now = now_ms()
local ends = now + keep_ms

for i = 1, first_budget - 1, 2 do
  if redis.call("HGET", held[i + 1], "call " .. run) == call then
    redis.call("ZADD", held[i], "XX", ends, run)
  end
end

-- Seconds that the calls under way have lasted so far, and how many they are.
local function passing(aside_key)
  local seconds, count = 0, 0
  for _, raw in ipairs(redis.call("HVALS", aside_key)) do
    local each = reserved(raw)
    if each and tonumber(each["until"]) > now then
      seconds, count = seconds + lasted_seconds(each, now), count + 1
    end
  end
  return seconds, count
end

local left_ms = -1
for i = first_budget, #held, 2 do
  local aside = reserved(redis.call("HGET", held[i + 1], run) or "")
  if aside and aside.call == call then
    aside["until"], aside.since = ends, now - lasted_ms
    redis.call("HSET", held[i + 1], run, cjson.encode(aside))
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
