--[[
  Shared by every script: the files here are put in front of each one, in order, when it is loaded.
  Times are milliseconds by Redis TIME.
]]
local EVENTS_KEPT, RECEIPTS_KEPT, RUN_KEPT_S = 2000, 2000, 7 * 86400
local FORGET_MS = 1000 -- how long after the end of a record that expires somebody looks
local ARCHIVE_PLACE_KEPT_S = 30 * 86400 -- results come late for a week at most: that long a blocked batch is kept
local CHORD_MS = 2000 -- how long a settled batch waits for its chord before the sweep announces it

-- A full Redis refuses a script at its first write, if that needs memory; one whose first write frees some may write on.
-- Called in front of every script but those that bring new work.
local function write_although_full()
  local nothing = KEYS[1] .. " nothing" -- named after a key of ours, which is all that our user may touch
  redis.call("DEL", nothing)
end

local MEMORY_EVERY_MS, MEMORY_KEPT_S = 1000, 10
local MEMORY_HIGH, MEMORY_LOW = 90, 85 -- per cent of maxmemory

local function now_ms()
  local t = redis.call("TIME")
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function number_in(info, name)
  return tonumber(string.match(info, "\n" .. name .. ":" .. "(%d+)")) or 0
end

-- Note how full Redis is, once a second. While nobody looks the note expires: it must not outlive what it tells.
local function watch_memory(memory, now)
  local m = redis.call("HMGET", memory, "at", "high")
  if m[1] and math.abs(now - tonumber(m[1])) < MEMORY_EVERY_MS then
    return
  end
  local info = redis.pcall("INFO", "memory") -- which our user may not be allowed
  info = type(info) == "string" and info or ""
  local limit, used = number_in(info, "maxmemory"), number_in(info, "used_memory")
  local counted = used - number_in(info, "mem_not_counted_for_evict")
  local percent = limit > 0 and math.floor(100 * counted / limit) or 0
  local high = percent >= MEMORY_HIGH or (m[2] == "1" and percent >= MEMORY_LOW)
  redis.call("HSET", memory, "at", now, "high", high and 1 or 0, "percent", percent)
  redis.call("EXPIRE", memory, MEMORY_KEPT_S)
end

-- How full Redis is, in per cent, if that is too much for new work.
local function lacks_memory(memory)
  local m = redis.call("HMGET", memory, "high", "percent")
  return m[1] == "1" and (tonumber(m[2]) or 100) or nil
end

-- Fields of an object, in one command.
local function set_fields(key, fields)
  local flat = {}
  for field, value in pairs(fields) do
    flat[#flat + 1], flat[#flat + 2] = field, value
  end
  if #flat > 0 then
    redis.call("HSET", key, unpack(flat))
  end
end

local function now_us()
  local t = redis.call("TIME")
  return t[1] * 1000000 + t[2]
end

-- A list as JSON; cjson would make an object of an empty one.
local function list_of(items)
  return #items > 0 and cjson.encode(items) or "[]"
end

-- What viewers are shown, as JSON. `raw` holds, by name, JSON that is put in as it is: cjson would make objects of empty
-- lists in it, and round numbers of more than fourteen digits.
local function event_body(data)
  local raw = data.raw
  data.raw = nil
  local body = cjson.encode(data)
  for name, text in pairs(raw or {}) do
    body = string.sub(body, 1, -2) .. ',"' .. name .. '":' .. text .. "}"
  end
  return body
end

-- Rule 20: each event carries a sequence number, so that a viewer notices a gap.
-- Rule 19: only `accept` creates the stream; everyone else finds it gone and writes nothing.
local function event(events, ctl, now, kind, data, create)
  local seq = redis.call("HINCRBY", ctl, "eseq", 1)
  local body = event_body(data)
  if create then
    return redis.call("XADD", events, "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data", body)
  end
  return redis.call(
    "XADD", events, "NOMKSTREAM", "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data", body)
end

-- Tell another session's viewers; one that was deleted meanwhile must not come back by it (rule 19).
local function tell(events, ctl, now, kind, data)
  if redis.call("EXISTS", ctl) == 1 then
    event(events, ctl, now, kind, data)
  end
end

-- Stored JSON that can be put into an event, or what stands for it where it cannot be read.
local function readable(raw, otherwise)
  local ok, given = pcall(cjson.decode, raw or "")
  return ok and type(given) == "table" and raw or otherwise
end

-- What a child was spawned with for those who watch it; each event of it that its parent's viewers see carries it.
local function metadata_of(raw)
  return { metadata = readable(raw, "{}") }
end

-- What a run shows its viewers; where its parent asked for it (`deliver`), those who watch the parent see it too.
local SEEN_ABOVE = { ["text.delta"] = "subagent.delta", ["tool.started"] = "subagent.tool",
  ["tool.output"] = "subagent.tool", ["tool.ended"] = "subagent.tool" }
local function show(events, ctl, run_key, now, shown)
  for _, item in ipairs(shown) do
    event(events, ctl, now, item.type, item.data)
  end
  if #shown == 0 or redis.call("HGET", run_key, "deliver") ~= "1" then
    return
  end
  local r = redis.call("HMGET", run_key, "k_events", "k_ctl", "session_key", "label", "metadata")
  for _, item in ipairs(shown) do
    if SEEN_ABOVE[item.type] then
      item.data.session, item.data.label, item.data.raw = r[3], r[4], metadata_of(r[5])
      item.data.phase = string.match(item.type, "^tool%.(.+)$")
      tell(r[1], r[2], now, SEEN_ABOVE[item.type], item.data)
    end
  end
end
