--[[
  Note how sending a part ended, and return what the sender sends next on this route.

  includes  clock, hashes, outbox

  keys
    outgoing         stream  new messages to chats
    outbox_entries   hash    start of the key of a message
    outbox_parts     list    start of the key of its parts
    outbox_files     list    start of the key of a file
    outbox_routes    list    start of the key of a route
    outbox_ready     zset    start of the key of an account's routes
    outbox_owners    hash    route -> token of the sender that holds it
    outbox_waiting   zset    messages that wait
    outbox_sent      zset    messages that were sent or dropped
    outbox_kept      zset    messages that are unknown or failed
  args
    id          text    message id
    address     text    route
    account     text    account of the route
    token       text    token of the caller's claim
    part        number  index of the part
    outcome     text    sent | unknown | later | retry | failed | empty (it was rendered to nothing)
    message_id  text    the channel's id of the sent message
    why         text    what went wrong
    delay_ms    number  pause before the next attempt, for later and retry
    lease_ms    number  how long a claim holds
    dedupes     flag    whether the channel dedupes sends
    goes_on     flag    whether the caller sends the next message of the route

  Returns  {"next", message id, its fields as a flat list, its parts}
           {"idle"}    nothing else waits, or another sender has the route from here on
           {"later"}   the route rests
           {"lost"}    another sender holds the route

  Invariant
    Each part ends once: sent, unknown or failed (I6). A sender that lost its route in the middle of a send may still
    say that the part was sent. A repeat is applied once and gets the first answer (rule 13).
]]
local box = { new = outgoing, entry = outbox_entries, parts = outbox_parts, file = outbox_files, route = outbox_routes,
  ready = outbox_ready, owners = outbox_owners, waiting = outbox_waiting, sent = outbox_sent, kept = outbox_kept }
local now, key = now_ms(), outbox_entries .. id

-- The sender was only paused: what was marked as unknown in its place is known now.
local function resolve()
  local known = part_state(key, part)
  if known.state == "unknown" and known.by == token and outcome == "sent" then
    redis.call("HSET", key, part_field(part), cjson.encode({ state = "sent", messageId = message_id, at = now }))
    local unsent, is_unknown = unsent_part(key, 0)
    if not unsent and not is_unknown and redis.call("HGET", key, "state") == "unknown" then
      end_entry(box, id, "sent", now)
    end
  end
end

if redis.call("HGET", outbox_owners, address) ~= token then
  resolve()
  return { "lost" }
end

local e = fields(key, "state", "next", "token", "attempts")
local is_current = tonumber(e.next) == part and (e.state == "sending" and e.token == token or e.state == "queued")
if outcome == "sent" and is_current then
  redis.call("HSET", key, "error", "")
  end_part(box, id, part, { state = "sent", messageId = message_id, at = now }, now)
elseif outcome == "unknown" and is_current then
  redis.call("HSET", key, "error", why)
  end_part(box, id, part, { state = "unknown", at = now }, now)
elseif outcome == "failed" and is_current then
  redis.call("HSET", key, "error", why)
  end_entry(box, id, "failed", now)
elseif outcome == "empty" and is_current then
  end_entry(box, id, "sent", now)
elseif is_current then
  redis.call("HSET", key, "state", "queued", "error", why, "retry_at", now + delay_ms,
    "attempts", (tonumber(e.attempts) or 0) + (outcome == "retry" and 1 or 0))
  -- The whole route rests: a later message must not overtake this one.
  leave_route(box, address, account, now + delay_ms)
  return { "later" }
end

local following = goes_on and head_of(box, address, dedupes, now)
if not following then
  leave_route(box, address, account, now)
  return { "idle" }
end
local ready, item = outbox_ready .. account, item_of(box, following)
redis.call("ZADD", ready, now + lease_ms, address)
return { "next", item[1], item[2], item[3] }
