--[[
  How full Redis is, and writing although it is.

  includes  hashes
]]
-- A full Redis refuses a script at its first write, if that needs memory; one whose first write frees some may write on.
-- The loader puts the same line in front of every script but those that bring new work. `key` is one of ours, because
-- our user may touch no other.
local function write_although_full(key)
  local nothing = key .. " nothing"
  redis.call("DEL", nothing)
end

local MEMORY_EVERY_MS, MEMORY_KEPT_S = 1000, 10
local MEMORY_HIGH, MEMORY_LOW = 90, 85 -- per cent of maxmemory
local function number_in(info, name)
  return tonumber(string.match(info, "\n" .. name .. ":" .. "(%d+)")) or 0
end

-- Note how full Redis is, once a second. While nobody looks the note expires: it must not outlive what it tells.
local function watch_memory(memory, now)
  local m = fields(memory, "at", "high")
  if m.at and math.abs(now - tonumber(m.at)) < MEMORY_EVERY_MS then
    return
  end
  local info = redis.pcall("INFO", "memory") -- which our user may not be allowed
  info = type(info) == "string" and info or ""
  local limit, used = number_in(info, "maxmemory"), number_in(info, "used_memory")
  local counted = used - number_in(info, "mem_not_counted_for_evict")
  local percent = limit > 0 and math.floor(100 * counted / limit) or 0
  local high = percent >= MEMORY_HIGH or (m.high == "1" and percent >= MEMORY_LOW)
  redis.call("HSET", memory, "at", now, "high", high and 1 or 0, "percent", percent)
  redis.call("EXPIRE", memory, MEMORY_KEPT_S)
end

-- How full Redis is, in per cent, if that is too much for new work.
local function lacks_memory(memory)
  local m = fields(memory, "high", "percent")
  return m.high == "1" and (tonumber(m.percent) or 100) or nil
end
