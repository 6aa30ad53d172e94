--[[
  What viewers of a session are shown.

  includes  hashes
]]
local EVENTS_KEPT = 2000
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
-- Rule 19: only `accept` creates the stream; everyone else finds it gone and writes nothing.
local function event(events, ctl, now, kind, data, create)
  local seq = redis.call("HINCRBY", ctl, "eseq", 1)
  local body = event_body(data)
  if create then
    return redis.call("XADD", events, "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data",
      body)
  end
  return redis.call(
    "XADD", events, "NOMKSTREAM", "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data", body)
end

-- Show an event to the viewers of another session, unless it was deleted meanwhile (rule 19).
local function event_elsewhere(events, ctl, now, kind, data)
  if redis.call("EXISTS", ctl) == 1 then
    event(events, ctl, now, kind, data)
  end
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
      event_elsewhere(r.events_key, r.ctl_key, now, SEEN_ABOVE[item.type], item.data)
    end
  end
end
