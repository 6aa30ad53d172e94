--[[
  Put a message into the outbox that no other script causes.

  includes  clock, memory

  keys
    outgoing  stream  new messages to chats
    memory    hash    how full Redis is
  args
    message    text    message (JSON)
    has_files  flag    whether it brings files, which a nearly full Redis does not take

  Returns  {"put"} | {"memory", percentage of memory in use}

  Invariant
    A message with an id that the outbox knows is dropped when it is sorted, so a repeat changes nothing (rule 13).
]]
local percent = has_files and lacks_memory(memory)
if percent then
  return { "memory", percent }
end
redis.call("XADD", outgoing, "*", "at", now_ms(), "message", message)
return { "put" }
