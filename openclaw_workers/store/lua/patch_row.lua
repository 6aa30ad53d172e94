--[[
  Set or clear fields of a session row that exists.

  KEYS[1]  session row       hash

  ARGV[1]  fields, a JSON object of strings; an empty string clears the field

  Returns  {"ok"} | {"missing"}

  Invariant
    Nothing is created by writing (rule 19).
]]
local row = KEYS[1]
local fields = cjson.decode(ARGV[1])
if redis.call("EXISTS", row) == 0 then
  return { "missing" }
end
for field, value in pairs(fields) do
  if value == "" then
    redis.call("HDEL", row, field)
  else
    redis.call("HSET", row, field, value)
  end
end
return { "ok" }
