--[[
  Carry out what a person decided about a message: send it again, or drop it.

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
    id    text  message id
    verb  text  retry | drop

  Returns  {"done"} | {"missing"}
           {"no", state}   it is being sent, or was sent or dropped

  Invariant
    Only parts that were not sent for certain are sent again, at the end of the route. A message that a sender holds
    is not changed.
]]
local box = { new = outgoing, entry = outbox_entries, parts = outbox_parts, file = outbox_files, route = outbox_routes,
  ready = outbox_ready, owners = outbox_owners, waiting = outbox_waiting, sent = outbox_sent, kept = outbox_kept }
local now, key = now_ms(), outbox_entries .. id
-- The message may still be among the new ones.
sort_new(box)
local e = fields(key, "state", "address", "account", "parts")
if not e.state then
  return { "missing" }
end
if e.state == "sent" or e.state == "dropped" or e.state == "sending" then
  return { "no", e.state }
end
local ready = outbox_ready .. e.account
if verb == "drop" then
  end_entry(box, id, "dropped", now)
elseif e.state == "queued" then
  -- A route with an owner is busy, and its time in this index is the end of the lease.
  if redis.call("HEXISTS", outbox_owners, e.address) == 0 then
    redis.call("ZADD", ready, now, e.address)
  end
else
  for index = 0, (tonumber(e.parts) or 0) - 1 do
    if part_state(key, index).state == "unknown" then
      redis.call("HDEL", key, part_field(index))
    end
  end
  keep_entry(box, id)
  redis.call("HDEL", key, "ended_at", "retry_at")
  redis.call("HSET", key, "state", "queued", "attempts", 0, "next", unsent_part(key, 0) or 0)
  redis.call("ZREM", outbox_kept, id)
  join_route(box, id, e.address, e.account, now)
end
return { "done" }
