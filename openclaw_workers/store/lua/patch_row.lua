--[[
  Set or clear fields of a session row that exists.

  KEYS[1]  session row       hash
  KEYS[2]  what the message that asked for this led to   hash

  ARGV[1]  fields, a JSON object of strings; an empty string clears the field
  ARGV[2]  seconds for which that message may come again, 0 if none asked

  Returns  {"ok"} | {"missing"}

  Invariant
    Nothing is created by writing (rule 19). A message that comes again gets the first reply, and changes nothing.
]]
local row, dedupe, keep_s = KEYS[1], KEYS[2], tonumber(ARGV[2])
local fields = cjson.decode(ARGV[1])
local first = first_reply(dedupe, keep_s)
if first then
  return first
end
if redis.call("EXISTS", row) == 0 then
  return keep_reply(dedupe, keep_s, { "missing" })
end
for field, value in pairs(fields) do
  if value == "" then
    redis.call("HDEL", row, field)
  else
    redis.call("HSET", row, field, value)
  end
end
return keep_reply(dedupe, keep_s, { "ok" })
