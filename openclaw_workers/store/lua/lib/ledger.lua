--[[
  What model calls cost: in the ledger, in run records and in budgets.

  includes  hashes, reservations
]]
-- The part of a run's tokens that its session has not been charged for yet: a child's run commits several times.
local function uncharged(run_key, spent)
  local before, new = cjson.decode(redis.call("HGET", run_key, "charged") or "{}"), {}
  for field, sum in pairs(spent) do
    new[field] = sum - (before[field] or 0)
  end
  redis.call("HSET", run_key, "charged", cjson.encode(spent))
  return new
end

-- The usage of all recorded calls of a run.
-- Usage fields as an entry of the ledger names them.
local USAGE = { input = "input", output = "output", cacheRead = "cache_read", cacheWrite = "cache_write" }
local function usage_of(run_key)
  local r = fields(run_key, "usage_input", "usage_output", "usage_cacheRead", "usage_cacheWrite")
  return { input = tonumber(r.usage_input) or 0, output = tonumber(r.usage_output) or 0,
    cacheRead = tonumber(r.usage_cacheRead) or 0,
    cacheWrite = tonumber(r.usage_cacheWrite) or 0 }
end

local function add_usage(run_key, usage)
  local sums, changed = usage_of(run_key), {}
  for field, sum in pairs(sums) do
    changed["usage_" .. field] = sum + (usage[field] or 0)
  end
  set_fields(run_key, changed)
end

-- Add failed or skipped model attempts to the run record, each once, by its id.
local function add_attempts(run_key, attempts)
  if #attempts == 0 or redis.call("EXISTS", run_key) == 0 then
    return
  end
  local list = redis.call("HGET", run_key, "model_attempts") or "[]"
  for _, attempt in ipairs(attempts) do
    local id, item = attempt[1], attempt[2]
    if not string.find(list, '"' .. id .. '"', 1, true) then
      list = string.sub(list, 1, -2) .. (list == "[]" and "" or ",") .. item .. "]"
    end
  end
  redis.call("HSET", run_key, "model_attempts", list)
end

-- A sum that cannot be read starts again: it must not fail the turn that adds to it.
local function add_to(key, field, amount)
  local sum = redis.pcall("HINCRBYFLOAT", key, field, amount)
  if type(sum) == "table" and sum.err then
    redis.call("HSET", key, field, amount)
  end
end

-- Enter a call, and return the amounts and usage that it adds: nothing the second time, and the difference to the
-- estimate if its owner had been taken for dead.
local function enter(ledger, before, id, entry, amounts, usage)
  if redis.call("HEXISTS", before, id) == 1 then
    ledger = before -- it was entered before midnight
  end
  if redis.call("HSETNX", ledger, id, entry) == 1 then
    return amounts, usage
  end
  local ok, known = pcall(cjson.decode, redis.call("HGET", ledger, id))
  if not ok or type(known) ~= "table" or known.outcome ~= "lost" or cjson.decode(entry).outcome == "lost" then
    return nil
  end
  redis.call("HSET", ledger, id, entry)
  local tokens, more, guess = 0, {}, type(known.usage) == "table" and known.usage or {}
  for field, stored in pairs(USAGE) do
    local count = tonumber(guess[stored]) or 0
    tokens, more[field] = tokens + count, usage[field] - count
  end
  return { tokens = amounts.tokens - tokens, cost = amounts.cost - (tonumber(known.cost) or 0), calls = 0,
    seconds = amounts.seconds }, more
end

-- An owner that died while it may have been calling a model is named in its run's record until that call is recorded.
-- So the call has the same id, however many workers take the run over meanwhile. An owner with a
-- tool at work was not calling a model, and neither was a sweeper that settles a lost run.
local function note_dead_owner(run_key, fence, started, settling)
  local r = fields(run_key, "id", "dead")
  if not r.id or fence == settling or (started or "") ~= "" then
    return
  end
  local dead = r.dead or "[]"
  redis.call("HSET", run_key, "dead", string.sub(dead, 1, -2) .. (dead == "[]" and "" or ",") .. fence .. "]")
end

-- The call of a dead owner is recorded: its run no longer needs to name that owner.
local function forget_dead_owner(run_key, id)
  local fence, dead, others = string.match(id, "(%d+)%p%d+$"), redis.call("HGET", run_key, "dead"), {}
  for each in string.gmatch(dead or "", "%d+") do
    if each ~= fence then
      others[#others + 1] = each
    end
  end
  if dead then
    redis.call("HSET", run_key, "dead", "[" .. table.concat(others, ",") .. "]")
  end
end

-- Rule 14: a call was billed whoever owns the run by now, so it is recorded before the lease is checked; once, by its
-- id. `budgets` are those of `budgets_from`. An owner's last recorded call tells the next owner
-- the id of the call that was in progress.
local function record_calls(ledger, before, given, run, run_key, owns, budgets)
  add_attempts(run_key, given.attempts)
  for _, call in ipairs(given.calls) do
    local id, entry = call[1], call[2]
    local added, usage = enter(ledger, before, id, entry, call[3], call[4])
    if string.find(entry, '"outcome":"lost"', 1, true) then
      forget_dead_owner(run_key, id)
    end
    if added then
      redis.call("EXPIRE", ledger, 90 * 86400)
      local is_known = redis.call("EXISTS", run_key) == 1
      if owns and is_known then
        redis.call("HSET", run_key, "last_call", id)
      end
      if added.cost ~= 0 and is_known then
        add_to(run_key, "cost", added.cost)
      end
      if is_known then
        add_usage(run_key, usage)
      end
      for _, budget in ipairs(budgets) do
        for field, amount in pairs(added) do
          add_to(budget.spent, field, amount)
        end
        keep_budget(budget)
      end
    end
    for _, budget in ipairs(budgets) do
      local reservation = reserved(redis.call("HGET", budget.reserved, run) or "")
      if reservation and reservation.call == id then
        remove_reservation(budget, run)
      end
    end
  end
end

-- The time of tools counts against budgets too.
local function charge_work(seconds, budgets)
  for _, budget in ipairs(budgets) do
    if seconds > 0 then
      add_to(budget.spent, "seconds", seconds)
      keep_budget(budget)
    end
  end
end
