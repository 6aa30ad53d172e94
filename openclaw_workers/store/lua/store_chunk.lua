--[[
  Store one chunk of a file that somebody will take.

  includes  memory

  keys
    file_key  list  the file, in chunks
    memory    hash  how full Redis is
  args
    index   number  which chunk this is, from 0
    chunk   text    its bytes (base64)
    keep_s  number  seconds after which the file goes if nobody has taken it

  Returns  {"stored"} | {"memory", percentage of memory in use}
           {"missing"}   an earlier chunk is missing; begin again

  Invariant
    Chunks are in order, each once: a repeat changes nothing (rule 13).
]]
local percent = lacks_memory(memory)
if percent then
  return { "memory", percent }
end
local known = redis.call("LLEN", file_key)
if known < index then
  return { "missing" }
end
if known == index then
  redis.call("RPUSH", file_key, chunk)
  redis.call("EXPIRE", file_key, keep_s)
end
return { "stored" }
