--[[
  Reserve what a model call may cost, in every budget that it counts against, before it is made.

  includes  clock, reservations

  keys
    budgets…  hashes  for each budget two: spent, reserved (run -> JSON)
  args
    run      text  run id
    wanted   json  call, tokens, cost, calls, seconds, keep_ms (how long the reservation lasts if nobody renews it)
    limits…  json  for each budget its limits: tokens, cost, calls, seconds, those that are set

  Returns  {"go", unreadable}
           {"over", unreadable, which budget, from 1, what, spent, limit}   nothing was reserved; waiting is in vain
           {"wait", unreadable, which budget}   others have reserved the rest
           unreadable: how many stored values could not be read; they were removed and do not count

  Invariant
    Spending exceeds a limit by at most one reservation: a call may begin if others have reserved nothing. Seconds
    beyond the reserved ones count while the call lasts (`hold`). A run has one reservation in each budget; asking
    again replaces it. The reservation of a dead owner expires (`hold`).
]]
local FIELDS = { "tokens", "cost", "calls", "seconds" }
local unreadable = 0

local function reserved_by_others(key)
  local sums, others, now = {}, false, now_ms()
  for _, field in ipairs(FIELDS) do
    sums[field] = 0
  end
  local all = redis.call("HGETALL", key)
  for i = 1, #all, 2 do
    local each = reserved(all[i + 1])
    if not each then
      unreadable = unreadable + 1
      redis.call("HDEL", key, all[i])
    elseif tonumber(each["until"]) <= now then
      redis.call("HDEL", key, all[i])
    elseif all[i] ~= run then
      if tonumber(each["until"]) > now + wanted.keep_ms then
        each["until"] = now + wanted.keep_ms -- the clock stepped back, and nobody has renewed it since
        redis.call("HSET", key, all[i], cjson.encode(each))
      end
      others = true
      for _, field in ipairs(FIELDS) do
        sums[field] = sums[field] + (tonumber(each[field]) or 0)
      end
      -- A call that lasts longer than expected has used more by now.
      sums.seconds = sums.seconds + math.max(0, lasted_seconds(each, now) - (tonumber(each.seconds) or 0))
    end
  end
  return sums, others
end

local function spent_of(key, field)
  local raw = redis.call("HGET", key, field)
  if raw and not tonumber(raw) then
    unreadable = unreadable + 1
    redis.call("HDEL", key, field)
  end
  return tonumber(raw or 0) or 0
end

for i, limits_of_one in ipairs(limits) do
  local spent_key, reserved_key = budgets[2 * i - 1], budgets[2 * i]
  local sums, others = reserved_by_others(reserved_key)
  for _, field in ipairs(FIELDS) do
    local limit, spent = limits_of_one[field], spent_of(spent_key, field)
    if limit and spent >= limit then
      return { "over", unreadable, i, field, tostring(spent), tostring(limit) }
    end
    if limit and others and spent + sums[field] + wanted[field] > limit then
      return { "wait", unreadable, i }
    end
  end
end
wanted.since = now_ms()
wanted["until"] = wanted.since + wanted.keep_ms
for i = 2, #budgets, 2 do
  local reserved_key = budgets[i]
  redis.call("HSET", reserved_key, run, cjson.encode(wanted))
  redis.call("EXPIRE", reserved_key, 7 * 86400)
end
return { "go", unreadable }
