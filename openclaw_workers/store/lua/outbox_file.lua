--[[
  Store one piece of a file that a message will send.

  includes  memory

  keys
    file_key  list  the file, in pieces
    memory    hash  how full Redis is
  args
    index   number  which piece this is, from 0
    piece   text    its bytes (base64)
    keep_s  number  seconds after which the file goes if no message refers to it

  Returns  {"stored"} | {"memory", percentage of memory in use}
           {"missing"}   an earlier piece is missing; begin again

  Invariant
    Pieces are in order, each once: a repeat changes nothing (rule 13).
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
  redis.call("RPUSH", file_key, piece)
  redis.call("EXPIRE", file_key, keep_s)
end
return { "stored" }
