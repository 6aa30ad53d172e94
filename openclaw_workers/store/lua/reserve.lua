--[[
  Reserve what a model call may cost, in every budget that it counts against, before it is made.

  includes  clock, reservations

  keys
    budget_keys…  keys  for each budget four: spent, reserved, ends, sums
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
    beyond the reserved ones count while the call lasts. A run has one reservation in each budget; asking again
    replaces it. The reservation of a dead owner expires. `renew_reservation` does both.
]]
local FIELDS = { "tokens", "cost", "calls", "seconds" }
local unreadable = 0

-- What others have reserved, by field, and whether there are any.
local function reserved_by_others(budget, now)
  unreadable = unreadable + drop_expired(budget, now, wanted.keep_ms)
  local own = reserved(redis.call("HGET", budget.reserved, run) or "")
  local sums = {}
  for _, field in ipairs(FIELDS) do
    local mine = own and (field == "seconds" and counted_seconds(own) or tonumber(own[field])) or 0
    sums[field] = (tonumber(redis.call("HGET", budget.sums, field) or 0) or 0) - mine
  end
  return sums, redis.call("ZCARD", budget.ends) > (own and 1 or 0)
end

local function spent_of(key, field)
  local raw = redis.call("HGET", key, field)
  if raw and not tonumber(raw) then
    unreadable = unreadable + 1
    redis.call("HDEL", key, field)
  end
  return tonumber(raw or 0) or 0
end

local now, all = now_ms(), budgets_from(budget_keys)
for i, limits_of_one in ipairs(limits) do
  local sums, others = reserved_by_others(all[i], now)
  for _, field in ipairs(FIELDS) do
    local limit, spent = limits_of_one[field], spent_of(all[i].spent, field)
    if limit and spent >= limit then
      return { "over", unreadable, i, field, tostring(spent), tostring(limit) }
    end
    -- Without other reservations the call may begin, or a call larger than the rest would wait for ever.
    if limit and others and spent + sums[field] + wanted[field] > limit then
      return { "wait", unreadable, i }
    end
  end
end
wanted.since = now
wanted["until"] = now + wanted.keep_ms
for _, budget in ipairs(all) do
  put_reservation(budget, run, wanted)
end
return { "go", unreadable }
