--[[
  Become the only writer of an archive, or learn that it belongs to another place.

  includes  clock, hashes, archives, schema

  keys
    archives        hash  archives that wait to be written
    writer          hash  writer of this archive
    due             zset  index of due items
    waiting_prefix  set   start of the key of archives that wait for one place
  args
    id        text    archive id, the session id of its transcript
    token     text    token of the writer
    place     text    id of the caller's state directory
    lease_ms  number  how long the writer may take for each part

  Returns  {"claimed", facts about the archive (JSON), entries written so far, size of the file then or -1 if unknown}
           {"none"}        there is nothing to write
           {"held"}        somebody else is writing it
           {"elsewhere"}   another place began it, and it waits for a writer there

  Invariant
    One writer at a time. All parts of an archive go to the place that wrote first, as long as that place is known.
]]
local now, item = now_ms(), "archive|" .. id

local about = redis.call("HGET", archives, id)
if not about then
  redis.call("ZREM", due, item)
  return { "none" }
end
local w = fields(writer, "token", "until", "place", "written", "size")
if w.place and w.place ~= place then
  local waiting = waiting_prefix .. w.place
  redis.call("SADD", waiting, item)
  redis.call("HSET", writer, "waits", now)
  -- Once that place is forgotten, whoever looks first writes the archive.
  redis.call("ZADD", due, now + math.max(0, redis.call("PTTL", writer)) + FORGET_MS, item)
  return { "elsewhere" }
end
local ends = tonumber(w["until"]) or 0
-- A lease that ends later than that was given before the clock stepped back.
if w.token and w.token ~= token and ends > now and ends <= now + lease_ms then
  return { "held" }
end
redis.call("HSET", writer, "token", token, "until", now + lease_ms, "v", SCHEMA)
redis.call("HDEL", writer, "waits")
redis.call("EXPIRE", writer, ARCHIVE_PLACE_KEPT_S)
return { "claimed", about, tonumber(w.written) or 0, tonumber(w.size) or -1 }
