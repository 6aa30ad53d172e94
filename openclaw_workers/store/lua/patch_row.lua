--[[
  Set or clear fields of an existing session row.

  includes  clock, dedupe, hashes, sessions

  keys
    row           hash  session row
    dedupe        hash  reply to the first delivery of the message
    label_prefix  zset  start of the key of the sessions with a label
  args
    session  text    session key
    changes  json    fields, an object of strings; an empty string clears the field
    keep_s   number  seconds in which the channel may deliver the message again; 0 if it never does

  Returns  {"ok"} | {"missing"}

  Invariant
    Nothing is created by writing (rule 19). A message that is delivered again gets the first reply, and changes
    nothing.
]]
local first = first_reply(dedupe, keep_s)
if first then
  return first
end
if redis.call("EXISTS", row) == 0 then
  return keep_reply(dedupe, keep_s, { "missing" })
end
if changes.label then
  set_label(label_prefix, row, session, changes.label, now_ms())
end
change_fields(row, changes)
return keep_reply(dedupe, keep_s, { "ok" })
