--[[
  What viewers of a session are shown.

  includes  hashes, schema
]]
local EVENTS_KEPT, EVENTS_KEPT_S = 2000, 3600
-- An event as JSON. `raw` holds JSON by name that goes in unchanged: cjson would turn its empty lists into objects, and
-- round numbers of more than fourteen digits.
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
-- Rule 19: only `accept` shows events of a session that does not exist yet; everyone else finds it gone and writes
-- nothing. The events of a session expire when none was added for an hour. A run's last event removes older ones.
local function event(events, ctl, now, kind, data, create)
  if not create and redis.call("EXISTS", ctl) == 0 then
    return false
  end
  local seq = redis.call("HINCRBY", ctl, "eseq", 1)
  local id = redis.call("XADD", events, "MAXLEN", "~", EVENTS_KEPT, "*", "v", SCHEMA, "type", kind, "seq", seq,
    "at", now, "data", event_body(data))
  redis.call("EXPIRE", events, EVENTS_KEPT_S)
  if kind == "run.ended" then
    redis.call("XTRIM", events, "MINID", "~", math.max(0, now - EVENTS_KEPT_S * 1000))
  end
  return id
end

-- Stored JSON for an event, or a default if it cannot be read.
local function readable(raw, otherwise)
  local ok, given = pcall(cjson.decode, raw or "")
  return ok and type(given) == "table" and raw or otherwise
end

-- Metadata that a child was spawned with; every event of the child that its parent's viewers see carries it.
local function metadata_of(raw)
  return { metadata = readable(raw, "{}") }
end

-- Show events of a run to its viewers, and to those of its parent if the parent asked for that (`deliver`).
local SEEN_ABOVE = { ["text.delta"] = "subagent.delta", ["tool.started"] = "subagent.tool",
  ["tool.output"] = "subagent.tool", ["tool.ended"] = "subagent.tool" }
local function show_events(events, ctl, run_key, now, shown)
  for _, item in ipairs(shown) do
    event(events, ctl, now, item.type, item.data)
  end
  if #shown == 0 or redis.call("HGET", run_key, "deliver") ~= "1" then
    return
  end
  local r = fields(run_key, "events_key", "ctl_key", "session_key", "label", "metadata")
  for _, item in ipairs(shown) do
    if SEEN_ABOVE[item.type] then
      item.data.session, item.data.label, item.data.raw = r.session_key, r.label, metadata_of(r.metadata)
      item.data.phase = string.match(item.type, "^tool%.(.+)$")
      event(r.events_key, r.ctl_key, now, SEEN_ABOVE[item.type], item.data)
    end
  end
end
