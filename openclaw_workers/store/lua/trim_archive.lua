--[[
  Remove archive entries that are safe on disk.

  includes  clock, hashes, archives

  keys
    archive         list  archive
    archives        hash  archives that wait to be written
    archive_places  hash  places that have archives
    writer          hash  writer of this archive
    due             zset  index of due items
  args
    id        text    archive id
    token     text    token of the writer
    before    number  how many entries were written before these
    count     number  how many these are
    size      text    size of the file now
    place     text    id of the caller's state directory
    host      text    the same for people
    lease_ms  number  how long the writer may take for the next part

  Returns  {"trimmed", how many entries are left}   with none left the archive is removed
           {"lost"}   somebody else is its writer now; nothing was changed

  Invariant
    Only the writer removes entries, and only those it wrote. A repeat removes nothing more (rule 13). The place is
    remembered as long as results may come late.
]]
local w, last = fields(writer, "token", "last"), token .. " " .. before

if w.last == last then
  return { "trimmed", redis.call("LLEN", archive) }
end
if w.token ~= token then
  return { "lost" }
end
redis.call("LTRIM", archive, count, -1)
redis.call("HSET", writer, "place", place, "host", host, "size", size, "written", before + count, "last", last,
  "until", now_ms() + lease_ms)
redis.call("EXPIRE", writer, ARCHIVE_PLACE_KEPT_S)
redis.call("HSET", archive_places, place, host)
local left = redis.call("LLEN", archive)
if left == 0 then
  redis.call("HDEL", archives, id)
  redis.call("HDEL", writer, "token", "until")
  redis.call("ZREM", due, "archive|" .. id)
end
return { "trimmed", left }
