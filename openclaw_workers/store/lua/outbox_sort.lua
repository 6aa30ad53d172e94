--[[
  Sort new messages by route without sending any, so that a list of the outbox is complete.

  includes  outbox

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

  Returns  {1 if some are left}

  Invariant
    Messages keep the order of their causes.
]]
local box = { new = outgoing, entry = outbox_entries, parts = outbox_parts, file = outbox_files, route = outbox_routes,
  ready = outbox_ready, owners = outbox_owners, waiting = outbox_waiting, sent = outbox_sent, kept = outbox_kept }
return { sort_new(box) and 1 or 0 }
