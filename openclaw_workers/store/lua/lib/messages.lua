--[[
  Messages in an inbox, and their receipts.

  includes  schema
]]
local RECEIPTS_KEPT, FORGOTTEN_AT_ONCE = 2000, 100
local INBOX_MOST = 1000 -- the most messages that wait in one inbox; `MOST_WAITING` in domain/messages.py is the same
-- The shape of a message, as far as scripts rely on it. It is checked first, because a script that fails halfway leaves
-- half a change. `InboxEntry` in domain/messages.py is at least as strict.
local NEEDED = { id = "string", seq = "number", accepted_at = "number", kind = "string", text = "string" }
local KINDS = { user = true, command = true, internal = true }
local WITH_DEFAULT = { sender = "", mode = "collect", metadata = {}, attachments = {} }
local OPTIONAL = { model = "string", extra_system_prompt = "string", thinking = "string", context_tokens = "number",
  timeout_seconds = "number" }
local UNSHOWN = { debounce_ms = 0, summary = "", address = "" } -- what the answer does not need
local function is_message(entry)
  for field, wanted in pairs(NEEDED) do
    if type(entry[field]) ~= wanted then
      return false
    end
  end
  for field, default in pairs(WITH_DEFAULT) do
    entry[field] = entry[field] == nil and default or entry[field]
    if type(entry[field]) ~= type(default) then
      return false
    end
  end
  for field, wanted in pairs(OPTIONAL) do
    if entry[field] == cjson.null then
      entry[field] = nil
    end
    if entry[field] ~= nil and type(entry[field]) ~= wanted then
      return false
    end
  end
  for _, value in pairs(entry.metadata) do
    if type(value) ~= "string" then
      return false
    end
  end
  return KINDS[entry.kind] or false
end

-- A stored message. One that cannot be read is taken alone and fails visibly, under its own id if that can be found.
-- Of one that newer code sent, only its place counts.
local function read_message(raw)
  local ok, entry = pcall(cjson.decode, raw)
  if ok and type(entry) == "table" and is_newer(entry.v) and type(entry.id) == "string" then
    return { id = entry.id, seq = tonumber(entry.seq) or 0, kind = "newer", mode = "followup",
      accepted_at = tonumber(entry.accepted_at) or 0, debounce_ms = 0, v = entry.v, metadata = {} }
  end
  if ok and type(entry) == "table" and is_message(entry) then
    for field, default in pairs(UNSHOWN) do
      entry[field] = type(entry[field]) == type(default) and entry[field] or default
    end
    return entry
  end
  local id = string.match(raw, '"id": ?"([^"\\]+)"') or "unreadable-" .. redis.sha1hex(raw)
  return { id = id, seq = 0, kind = "unreadable", mode = "followup", accepted_at = 0, debounce_ms = 0 }
end

local function receipt_of(entry, state, run, now, reason)
  return cjson.encode({
    v = SCHEMA, state = state, seq = entry.seq, run = run, reason = reason, accepted_at = entry.accepted_at, at = now,
  })
end

-- The index of receipts of messages that are over; `SETTLED` in store/keys.py is the same.
local function settled_key(receipts)
  return receipts .. ":settled"
end

-- Write a receipt. Those of settled messages stand in an index, which holds the newest of them. So the search for
-- old receipts never reads those of messages that wait.
local function receipt(receipts, entry, state, run, now, reason)
  redis.call("HSET", receipts, entry.id, receipt_of(entry, state, run, now, reason))
  if state == "accepted" or state == "bound" then
    return
  end
  local settled = settled_key(receipts)
  redis.call("ZADD", settled, now, entry.id)
  local surplus = math.min(redis.call("ZCARD", settled) - RECEIPTS_KEPT, FORGOTTEN_AT_ONCE)
  local old = surplus > 0 and redis.call("ZPOPMIN", settled, surplus) or {}
  for i = 1, #old, 2 do
    redis.call("HDEL", receipts, old[i])
  end
end

local function is_announce(entry)
  return entry.kind == "internal" and entry.metadata and entry.metadata.provenance == "subagent"
end

-- Settle and remove the messages of `inbox` or `bound` up to a sequence number. Commands and results of children (I4)
-- can be spared. Returns their ids, whether a person wrote one, those from other sessions, and all of them.
local function settle_messages(zset, receipts, upto, state, run, now, reason, spare_commands, spare_announces)
  local ids, by_person, exchanges, settled = {}, false, {}, {}
  for _, raw in ipairs(redis.call("ZRANGEBYSCORE", zset, "-inf", upto)) do
    local entry = read_message(raw)
    if not (spare_commands and entry.kind == "command") and not (spare_announces and is_announce(entry)) then
      redis.call("ZREM", zset, raw)
      receipt(receipts, entry, state, run, now, reason)
      ids[#ids + 1] = entry.id
      settled[#settled + 1] = entry
      by_person = by_person or entry.kind ~= "internal"
      if entry.metadata and entry.metadata.exchange then
        exchanges[#exchanges + 1] = entry
      end
    end
  end
  return ids, by_person, exchanges, settled
end

-- Make sessions due that wait for answers to these messages, and return them: the answers came, or never will.
local function wake_waiting_for(waiters, ids, due, now)
  local heard = {}
  for _, id in ipairs(ids) do
    local waiting = redis.call("HGET", waiters, id)
    if waiting then
      redis.call("HDEL", waiters, id)
      redis.call("ZADD", due, now, "turn|" .. waiting)
      heard[#heard + 1] = waiting
    end
  end
  return heard
end
