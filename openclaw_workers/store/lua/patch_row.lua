--[[
  Set or clear fields of a session row that exists.

  includes  dedupe

  keys
    row     hash  session row
    dedupe  hash  what the message that asked for this led to
  args
    changes  json    fields, a JSON object of strings; an empty string clears the field
    keep_s   number  seconds for which that message may come again, 0 if none asked

  Returns  {"ok"} | {"missing"}

  Invariant
    Nothing is created by writing (rule 19). A message that comes again gets the first reply, and changes nothing.
]]
local first = first_reply(dedupe, keep_s)
if first then
  return first
end
if redis.call("EXISTS", row) == 0 then
  return keep_reply(dedupe, keep_s, { "missing" })
end
for field, value in pairs(changes) do
  if value == "" then
    redis.call("HDEL", row, field)
  else
    redis.call("HSET", row, field, value)
  end
end
return keep_reply(dedupe, keep_s, { "ok" })
