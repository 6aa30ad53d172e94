--[[
  How full Redis is, and writing although it is.

  includes  hashes
]]
-- A full Redis refuses a script at its first write if that needs memory, and allows all others after a first write that
-- needs none. The loader puts the same line in front of every script except those that bring new work. `key` is one of
-- ours, because our user may touch no other.
local function write_although_full(key)
  local nothing = key .. " nothing"
  redis.call("DEL", nothing)
end

local MEMORY_EVERY_MS, MEMORY_KEPT_S = 1000, 10
local MEMORY_HIGH, MEMORY_LOW = 90, 85 -- per cent of maxmemory

local function number_in(info, name)
  return tonumber(string.match(info, "\n" .. name .. ":" .. "(%d+)")) or 0
end

-- Note how full Redis is, at most once a second. The note expires, so that an old one is never believed.
local function watch_memory(memory, now)
  local m = fields(memory, "at", "high")
  if m.at and math.abs(now - tonumber(m.at)) < MEMORY_EVERY_MS then
    return
  end
  local info = redis.pcall("INFO", "memory") -- our user may lack the permission
  info = type(info) == "string" and info or ""
  local limit, used = number_in(info, "maxmemory"), number_in(info, "used_memory")
  local counted = used - number_in(info, "mem_not_counted_for_evict")
  local percent = limit > 0 and math.floor(100 * counted / limit) or 0
  local high = percent >= MEMORY_HIGH or (m.high == "1" and percent >= MEMORY_LOW)
  redis.call("HSET", memory, "at", now, "high", high and 1 or 0, "percent", percent)
  redis.call("EXPIRE", memory, MEMORY_KEPT_S)
end

-- The percentage of memory in use if it is too high for new work; otherwise nil.
local function lacks_memory(memory)
  local m = fields(memory, "high", "percent")
  return m.high == "1" and (tonumber(m.percent) or 100) or nil
end
