--[[
  What is reserved in a budget for a call under way.
]]
-- What a run has set aside, as it is stored; nil if that cannot be read.
local function reserved(raw)
  local ok, aside = pcall(cjson.decode, raw)
  return ok and type(aside) == "table" and tonumber(aside["until"]) and aside or nil
end

-- How long the call has lasted that this is set aside for.
local function lasted_seconds(aside, now)
  return math.max(0, now - (tonumber(aside.since) or now)) / 1000
end

-- The run makes no call now, so nothing is set aside for one; a call that was not made in the end is never booked.
local function unreserve(run, budgets)
  for i = 2, #budgets, 2 do
    redis.call("HDEL", budgets[i], run)
  end
end
