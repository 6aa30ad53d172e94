--[[
  What is reserved in a budget for a call under way.
]]
-- The reservation of a run, as it is stored; nil if it cannot be read.
local function reserved(raw)
  local ok, reservation = pcall(cjson.decode, raw)
  return ok and type(reservation) == "table" and tonumber(reservation["until"]) and reservation or nil
end

-- How long the call of this reservation has lasted.
local function lasted_seconds(reservation, now)
  return math.max(0, now - (tonumber(reservation.since) or now)) / 1000
end

-- The run makes no call now. The reservation of a call that was never made would otherwise stay until it expires.
local function unreserve(run, budgets)
  for i = 2, #budgets, 2 do
    redis.call("HDEL", budgets[i], run)
  end
end
