--[[
  What is reserved in a budget for calls in progress.

  A budget's reservations are a hash (run -> JSON). An index of their ends and running sums stand beside it, so that no
  script reads every reservation: there may be thousands.

  includes  schema
]]
local RESERVED = { "tokens", "cost", "calls" }

-- Budgets from a list of keys: for each its spent amounts, reservations, their ends and their sums.
local function budgets_from(keys, first)
  local found = {}
  for i = first or 1, #keys, 4 do
    found[#found + 1] = { spent = keys[i], reserved = keys[i + 1], ends = keys[i + 2], sums = keys[i + 3] }
  end
  return found
end

-- How long a budget is kept. Each tree has one of its own for each day, so these go earlier.
local BUDGET_KEPT_S, TREE_BUDGET_KEPT_S = 90 * 86400, 2 * 86400
local function keep_budget(budget)
  local is_tree = string.find(budget.spent, "budget.tree ")
  redis.call("EXPIRE", budget.spent, is_tree and TREE_BUDGET_KEPT_S or BUDGET_KEPT_S)
end

-- A reservation as it is stored; nil if it cannot be read.
local function reserved(raw)
  local ok, reservation = pcall(cjson.decode, raw)
  return ok and type(reservation) == "table" and tonumber(reservation["until"]) and reservation or nil
end

-- Seconds that a reservation counts for: those reserved, or more if its call has lasted longer.
local function counted_seconds(reservation)
  return math.max(tonumber(reservation.seconds) or 0, tonumber(reservation.lasted) or 0)
end

local function add_to_sums(budget, reservation, sign)
  for _, field in ipairs(RESERVED) do
    redis.call("HINCRBYFLOAT", budget.sums, field, sign * (tonumber(reservation[field]) or 0))
  end
  redis.call("HINCRBYFLOAT", budget.sums, "seconds", sign * counted_seconds(reservation))
  redis.call("HINCRBYFLOAT", budget.sums, "since", sign * (tonumber(reservation.since) or 0))
end

-- Compute the sums and the index again, from what can be read. Returns how many reservations could not.
local function rebuild_sums(budget)
  local unreadable = 0
  redis.call("DEL", budget.sums, budget.ends)
  local all = redis.call("HGETALL", budget.reserved)
  for i = 1, #all, 2 do
    local reservation = reserved(all[i + 1])
    if reservation then
      redis.call("ZADD", budget.ends, reservation["until"], all[i])
      add_to_sums(budget, reservation, 1)
    else
      redis.call("HDEL", budget.reserved, all[i])
      unreadable = unreadable + 1
    end
  end
  return unreadable
end

-- Remove the reservation of a run. Returns how many stored values could not be read.
local function remove_reservation(budget, run)
  local raw = redis.call("HGET", budget.reserved, run)
  if not raw then
    return 0
  end
  local reservation = reserved(raw)
  if not reservation then
    return rebuild_sums(budget)
  end
  redis.call("HDEL", budget.reserved, run)
  redis.call("ZREM", budget.ends, run)
  if redis.call("ZCARD", budget.ends) == 0 then
    redis.call("DEL", budget.sums) -- so that rounding errors do not add up for ever
  else
    add_to_sums(budget, reservation, -1)
  end
  return 0
end

local function put_reservation(budget, run, reservation)
  remove_reservation(budget, run)
  reservation.v = SCHEMA
  redis.call("HSET", budget.reserved, run, cjson.encode(reservation))
  redis.call("ZADD", budget.ends, reservation["until"], run)
  add_to_sums(budget, reservation, 1)
  for _, each in ipairs({ budget.reserved, budget.ends, budget.sums }) do
    redis.call("EXPIRE", each, TREE_BUDGET_KEPT_S)
  end
end

-- Remove what has expired, a bounded number at a time, and let nothing end later than it can: after the clock stepped
-- back, nobody may have renewed it. Returns how many stored values could not be read.
local function drop_expired(budget, now, keep_ms)
  local unreadable, ends = 0, budget.ends
  if redis.call("HLEN", budget.reserved) ~= redis.call("ZCARD", ends) then
    unreadable = rebuild_sums(budget)
  end
  for _, run in ipairs(redis.call("ZRANGEBYSCORE", ends, "-inf", now, "LIMIT", 0, 100)) do
    unreadable = unreadable + remove_reservation(budget, run)
  end
  for _, run in ipairs(redis.call("ZRANGEBYSCORE", ends, "(" .. now + keep_ms, "+inf", "LIMIT", 0, 100)) do
    local reservation = reserved(redis.call("HGET", budget.reserved, run) or "")
    if reservation then
      reservation["until"] = now + keep_ms
      put_reservation(budget, run, reservation)
    end
  end
  return unreadable
end

-- How many calls are in progress, and how many seconds they have lasted together.
local function in_progress(budget, now)
  local count = redis.call("ZCARD", budget.ends)
  local since = tonumber(redis.call("HGET", budget.sums, "since") or 0)
  return count, math.max(0, count * now - since) / 1000
end

-- The run makes no call now. The reservation of a call that was never made would otherwise stay until it expires.
local function unreserve(run, budgets)
  for _, budget in ipairs(budgets) do
    remove_reservation(budget, run)
  end
end
