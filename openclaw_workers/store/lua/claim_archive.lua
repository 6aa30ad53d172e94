--[[
  Become the one writer of an archive, or learn that it is written at another place.

  KEYS[1]  archives          hash
  KEYS[2]  writer of this archive   hash
  KEYS[3]  due               zset
  KEYS[4]  what the key of the archives that wait for one place begins with   set

  ARGV[1]  archive id, the session id that it holds the transcript of
  ARGV[2]  token of this writer
  ARGV[3]  where it would write: the id of its state directory
  ARGV[4]  how long it may take for each part, milliseconds

  Returns  {"claimed", about the archive (JSON), entries written so far, size of the file then or -1 if not known}
           {"none"}      there is nothing to write
           {"held"}      somebody else is writing it
           {"elsewhere"} it was begun at another place, and waits for a writer there

  Invariant
    One writer at a time. All of an archive goes to the place that wrote first, for as long as that is known.
]]
local archives, writer, due = KEYS[1], KEYS[2], KEYS[3]
local id, token, place, lease_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local now, item = now_ms(), "archive|" .. ARGV[1]

local about = redis.call("HGET", archives, id)
if not about then
  redis.call("ZREM", due, item)
  return { "none" }
end
local w = redis.call("HMGET", writer, "token", "until", "place", "written", "size")
if w[3] and w[3] ~= place then
  local waiting = KEYS[4] .. w[3]
  redis.call("SADD", waiting, item)
  redis.call("HSET", writer, "waits", now)
  -- Once nobody knows that place any more, whoever looks first writes it.
  redis.call("ZADD", due, now + math.max(0, redis.call("PTTL", writer)) + FORGET_MS, item)
  return { "elsewhere" }
end
local ends = tonumber(w[2]) or 0
-- A lease that ends too late was given before the clock stepped back.
if w[1] and w[1] ~= token and ends > now and ends <= now + lease_ms then
  return { "held" }
end
redis.call("HSET", writer, "token", token, "until", now + lease_ms)
redis.call("HDEL", writer, "waits")
redis.call("EXPIRE", writer, ARCHIVE_PLACE_KEPT_S)
return { "claimed", about, tonumber(w[4]) or 0, tonumber(w[5]) or -1 }
