--[[
  The outbox: messages to chats, first in, first out per route, with one sender at a time for a route (rule 17).

  Functions take the keys of the outbox as a table: new, entry, parts, file, route, ready (the last five are the start
  of a key), owners, waiting, sent, kept.

  includes  hashes, schema
]]
local SENT_KEPT_S, UNSENT_KEPT_S = 86400, 30 * 86400
local SORTED_AT_ONCE = 200

local function address_of(route)
  local account = (route.channel or "") .. "|" .. (route.account_id or "")
  return account .. "|" .. (route.to or "") .. "|" .. (route.thread_id or ""), account
end

-- Let a message wait at the end of its route. A route that a sender holds, or that rests, keeps its time.
local function join_route(box, id, address, account, now)
  local route, ready = box.route .. address, box.ready .. account
  redis.call("RPUSH", route, id)
  redis.call("ZADD", ready, "NX", now, address)
  redis.call("ZADD", box.waiting, now, id)
end

-- A message that cannot be read is kept as failed, for a person to look at.
local function keep_unreadable(box, stream_id, raw, at)
  local id = "unreadable-" .. stream_id
  local key = box.entry .. id
  redis.call("HSET", key, "id", id, "kind", "message", "state", "failed", "created_at", at, "ended_at", at, "message",
    raw, "error", "the message cannot be read", "v", SCHEMA)
  redis.call("EXPIRE", key, UNSENT_KEPT_S)
  redis.call("ZADD", box.kept, at, id)
end

local function add_entry(box, stream_id, raw, at)
  local is_readable, message = pcall(cjson.decode, raw)
  is_readable = is_readable and type(message) == "table"
  if not is_readable or type(message.route) ~= "table" or type(message.id) ~= "string" then
    return keep_unreadable(box, stream_id, raw, at)
  end
  local key = box.entry .. message.id
  if redis.call("EXISTS", key) == 1 then
    return -- its cause wrote it twice (rule 13)
  end
  local files = {}
  for _, file in ipairs(message.files or {}) do
    files[#files + 1] = file.id
    local content = box.file .. file.id
    redis.call("PERSIST", content)
  end
  local address, account = address_of(message.route)
  redis.call("HSET", key, "id", message.id, "kind", message.kind, "state", "queued", "created_at", at, "address",
    address, "account", account, "message", raw, "parts", 0, "next", 0, "attempts", 0, "files", list_of(files),
    "v", SCHEMA)
  join_route(box, message.id, address, account, at)
end

-- Sort new messages by route, in the order of their causes. Returns whether some are left.
local function sort_new(box)
  local found = redis.call("XRANGE", box.new, "-", "+", "COUNT", SORTED_AT_ONCE)
  for _, item in ipairs(found) do
    local id, values = item[1], {}
    for i = 1, #item[2], 2 do
      values[item[2][i]] = item[2][i + 1]
    end
    add_entry(box, id, values.message or "", tonumber(values.at) or 0)
    redis.call("XDEL", box.new, id)
  end
  return #found == SORTED_AT_ONCE
end

-- How long the records of a message are kept from now on; for ever without a number.
local function keep_entry(box, id, seconds, drop_files)
  local function keep(key)
    if seconds then
      redis.call("EXPIRE", key, seconds)
    else
      redis.call("PERSIST", key)
    end
  end
  local key, parts = box.entry .. id, box.parts .. id
  for _, file in ipairs(texts_in(redis.call("HGET", key, "files"))) do
    local content = box.file .. file
    if drop_files then
      redis.call("DEL", content)
    else
      keep(content)
    end
  end
  keep(key)
  keep(parts)
end

-- A message is sent or dropped, or leaves its route for a person to decide.
local function end_entry(box, id, state, now)
  local key, is_over = box.entry .. id, state == "sent" or state == "dropped"
  local route = box.route .. (redis.call("HGET", key, "address") or "")
  redis.call("HSET", key, "state", state, "ended_at", now)
  redis.call("LREM", route, 1, id)
  redis.call("ZREM", box.waiting, id)
  redis.call("ZREM", box.kept, id)
  redis.call("ZADD", is_over and box.sent or box.kept, now, id)
  keep_entry(box, id, is_over and SENT_KEPT_S or UNSENT_KEPT_S, is_over)
  redis.call("ZREMRANGEBYSCORE", box.sent, "-inf", now - SENT_KEPT_S * 1000)
  redis.call("ZREMRANGEBYSCORE", box.kept, "-inf", now - UNSENT_KEPT_S * 1000)
end

local function part_field(index)
  return "part " .. index
end

local function part_state(key, index)
  local ok, part = pcall(cjson.decode, redis.call("HGET", key, part_field(index)) or "{}")
  return ok and type(part) == "table" and part or {}
end

-- The first part from an index on that has not ended; nil if there is none. And whether one is unknown.
local function unsent_part(key, from)
  local unsent, is_unknown = nil, false
  for index = 0, (tonumber(redis.call("HGET", key, "parts")) or 0) - 1 do
    local state = part_state(key, index).state
    is_unknown = is_unknown or state == "unknown"
    if not state and index >= from and not unsent then
      unsent = index
    end
  end
  return unsent, is_unknown
end

-- Note how sending a part ended, and go on to the next one, or end the message.
local function end_part(box, id, index, part, now)
  local key = box.entry .. id
  redis.call("HSET", key, part_field(index), cjson.encode(part), "state", "queued")
  local unsent, is_unknown = unsent_part(key, index + 1)
  if unsent then
    redis.call("HSET", key, "next", unsent)
  else
    end_entry(box, id, is_unknown and "unknown" or "sent", now)
  end
end

-- The message at the head of a route that a sender has just claimed; nil if nothing waits. Whoever was sending it has
-- died or was paused, so that part may have arrived: it is unknown, unless the channel dedupes sends (rule 17).
local function head_of(box, address, dedupes, now)
  local route = box.route .. address
  while true do
    local id = redis.call("LINDEX", route, 0)
    if not id then
      return nil
    end
    local key = box.entry .. id
    local e = fields(key, "state", "next", "token")
    if e.state == "queued" then
      return id
    elseif e.state == "sending" and dedupes then
      redis.call("HSET", key, "state", "queued")
    elseif e.state == "sending" then
      redis.call("HSET", key, "error", "the sender was lost while it was sending")
      end_part(box, id, tonumber(e.next), { state = "unknown", at = now, by = e.token }, now)
    else
      redis.call("LPOP", route) -- it expired, or ended otherwise
    end
  end
end

-- Give a route to whoever asks next: at once, or after a pause.
local function leave_route(box, address, account, at)
  local route, ready = box.route .. address, box.ready .. account
  redis.call("HDEL", box.owners, address)
  if redis.call("EXISTS", route) == 1 then
    redis.call("ZADD", ready, at, address)
  else
    redis.call("ZREM", ready, address)
  end
end

-- A message as a sender is given it: id, its fields as a flat list, its stored parts.
local function item_of(box, id)
  local key, parts = box.entry .. id, box.parts .. id
  return { id, redis.call("HGETALL", key), redis.call("LRANGE", parts, 0, -1) }
end
