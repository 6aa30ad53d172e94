--[[
  Entries of an archive are safe on disk: remove exactly these.

  KEYS[1]  archive           list
  KEYS[2]  archives          hash
  KEYS[3]  writer of this archive   hash
  KEYS[4]  due               zset

  ARGV[1]  archive id
  ARGV[2]  token of the writer
  ARGV[3]  how many entries were written before these
  ARGV[4]  how many these are
  ARGV[5]  size of the file now
  ARGV[6]  where it is: the id of the state directory
  ARGV[7]  the same for people
  ARGV[8]  how long the writer may take for the next part, milliseconds

  Returns  {"trimmed", how many entries are left}   with none left the archive is forgotten
           {"lost"}      somebody else is its writer now; nothing was changed

  Invariant
    Only the writer removes, and only what it wrote; a repeat removes nothing more (rule 13). Where it wrote is known
    for as long as results may come late.
]]
local archive, archives, writer, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, token, before, count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local w, last = redis.call("HMGET", writer, "token", "last"), ARGV[2] .. " " .. ARGV[3]

if w[2] == last then
  return { "trimmed", redis.call("LLEN", archive) }
end
if w[1] ~= token then
  return { "lost" }
end
redis.call("LTRIM", archive, count, -1)
redis.call("HSET", writer, "place", ARGV[6], "host", ARGV[7], "size", ARGV[5], "written", before + count, "last", last,
  "until", now_ms() + tonumber(ARGV[8]))
redis.call("EXPIRE", writer, ARCHIVE_PLACE_KEPT_S)
local left = redis.call("LLEN", archive)
if left == 0 then
  redis.call("HDEL", archives, id)
  redis.call("HDEL", writer, "token", "until")
  redis.call("ZREM", due, "archive|" .. id)
end
return { "trimmed", left }
