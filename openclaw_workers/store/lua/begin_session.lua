--[[
  Begin a session without a message, because a command sets something for it.

  includes  clock, memory, messages, sessions

  keys
    row       hash    session row
    receipts  hash    receipts of messages
    sessions  zset    index of sessions
    memory    hash    how full Redis is
  args
    session         text  session key
    new_session_id  text  session id
    agent           text  agent id
    row_new         text  row fields of the new session

  Returns  {"created"} | {"known"}
           {"memory", percentage of memory in use}   nothing was changed

  Invariant
    A session that exists stays as it is, so a repeat changes nothing (rule 13).
]]
if redis.call("EXISTS", row) == 1 then
  return { "known" }
end
local percent = lacks_memory(memory)
if percent then
  return { "memory", percent }
end
local now = now_ms()
create_row(row, session, agent, new_session_id, now, cjson.decode(row_new))
-- A deleted session left these to expire; they belong to the new one now.
redis.call("PERSIST", receipts)
redis.call("PERSIST", settled_key(receipts))
redis.call("ZADD", sessions, now, session)
return { "created" }
