--[[
  System events: what a session sees at the beginning of its next turn. An event is stored as JSON with source, text,
  at, key and shown (the text that the model reads).

  includes  schema
]]
local EVENTS_MOST, EVENTS_BYTES = 50, 64 * 1024
local EVENT_KEYS_MOST, EVENT_KEYS_MS = 1000, 86400000

-- Add an event, unless one with its key was added within a day. Too many or too large ones push the oldest out, which
-- is counted. Returns whether it is new.
local function add_system_event(system_events, event_keys, ctl, raw, now)
  local event = cjson.decode(raw)
  redis.call("ZREMRANGEBYSCORE", event_keys, "-inf", now - EVENT_KEYS_MS)
  if redis.call("ZADD", event_keys, "NX", now, event.key) == 0 then
    return false
  end
  redis.call("ZREMRANGEBYRANK", event_keys, 0, -EVENT_KEYS_MOST - 1)
  event.at, event.v = now, SCHEMA
  redis.call("RPUSH", system_events, cjson.encode(event))
  redis.call("HSET", ctl, "events_wait", 1)
  local waiting, size = redis.call("LRANGE", system_events, 0, -1), 0
  local first = #waiting
  for index = #waiting, 1, -1 do
    size = size + #waiting[index]
    if index < #waiting and (size > EVENTS_BYTES or #waiting - index >= EVENTS_MOST) then
      break
    end
    first = index
  end
  if first > 1 then
    redis.call("LTRIM", system_events, first - 1, -1)
    redis.call("HINCRBY", ctl, "events_dropped", first - 1)
  end
  return true
end

-- Take the events that wait, and return their texts; nil if there are none.
local function take_system_events(system_events, ctl)
  local shown, dropped = {}, redis.call("HGET", ctl, "events_dropped")
  if dropped then
    shown[1] = "[" .. dropped .. " earlier system event(s) were dropped because too many waited]"
  end
  for _, raw in ipairs(redis.call("LRANGE", system_events, 0, -1)) do
    local ok, event = pcall(cjson.decode, raw)
    shown[#shown + 1] = ok and type(event) == "table" and event.shown or nil
  end
  redis.call("DEL", system_events)
  redis.call("HDEL", ctl, "events_wait", "events_dropped")
  return #shown > 0 and shown or nil
end

-- The transcript entry that carries events to the model.
local function events_entry(shown, run, now)
  local content = {}
  for _, text in ipairs(shown) do
    content[#content + 1] = { type = "text", text = text }
  end
  return cjson.encode({
    v = SCHEMA, role = "user", content = content, timestamp = now, runId = run, provenance = "system_event",
  })
end

-- Events for the old session do not enter the new one (rule 18). They join the old transcript, which is archived next.
local function archive_system_events(system_events, ctl, log, now)
  local shown = take_system_events(system_events, ctl)
  if shown then
    redis.call("RPUSH", log, events_entry(shown, nil, now))
  end
end

-- A message that only wakes the session for events.
local function is_wake(entry)
  return entry.kind == "internal" and entry.metadata and entry.metadata.provenance == "system_event"
end
