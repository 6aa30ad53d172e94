--[[
  Create a session that begins with a given transcript, and that is deleted when nobody has used it for a while.

  includes  clock, memory, sessions

  keys
    row       hash  session row
    log       list  transcript
    sessions  zset  index of sessions
    due       zset  index of due items
    memory    hash  how full Redis is
  args
    session         text    session key
    new_session_id  text    session id
    agent           text    agent id
    row_new         text    row fields of the new session
    keep_ms         number  milliseconds without use after which it is deleted, without an archive
    entries…        text    transcript entries, oldest first

  Returns  {"created"} | {"known"}
           {"memory", percentage of memory in use}   nothing was changed

  Invariant
    A session that exists keeps its transcript, so a repeat changes nothing (rule 13). The session is due for deletion
    from the start, even if no message ever reaches it.
]]
if redis.call("EXISTS", row) == 1 then
  return { "known" }
end
local percent = lacks_memory(memory)
if percent then
  return { "memory", percent }
end
local now = now_ms()
redis.call("HSET", row, "archiveAfterMs", keep_ms, "transient", "1")
create_row(row, session, agent, new_session_id, now, cjson.decode(row_new))
for _, entry in ipairs(entries) do
  redis.call("RPUSH", log, entry)
end
redis.call("ZADD", sessions, now, session)
redis.call("ZADD", due, now + keep_ms, "cleanup|" .. session)
return { "created" }
