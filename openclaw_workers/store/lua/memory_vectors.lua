--[[
  Keep embeddings, and drop those that were not used for longest.

  includes  clock

  keys
    vectors  hash  hash of a text -> its embedding
    used     zset  hash of a text -> when it was last used
  args
    most    number  how many are kept
    entries…  text    hash and embedding of each text; an empty embedding only marks it as used

  Returns  {how many there are}

  Invariant
    Both keys name the same texts, at most `most` of them.
]]
local now = now_ms()
for i = 1, #entries, 2 do
  if entries[i + 1] ~= "" then
    redis.call("HSET", vectors, entries[i], entries[i + 1])
    redis.call("ZADD", used, now, entries[i])
  else
    redis.call("ZADD", used, "XX", now, entries[i])
  end
end
local surplus = redis.call("ZCARD", used) - most
if surplus > 0 then
  local dropped = redis.call("ZPOPMIN", used, surplus)
  for i = 1, #dropped, 2 do
    redis.call("HDEL", vectors, dropped[i])
  end
end
return { redis.call("ZCARD", used) }
