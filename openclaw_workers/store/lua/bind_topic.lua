--[[
  Give a session that waits for a thread in its chat the thread that was created, or none if that failed.

  includes  schema

  keys
    threads    hash  thread -> the session bound to it
    row        hash  session row
    topic_key  hash  what became of the thread that the session waited for
  args
    session  text    session key
    wanted   text    address of the thread that it waits for
    address  text    address of the thread that was created; empty if that failed
    thread   text    id of the thread in which it speaks from now on; empty for none
    keep_s   number  seconds in which messages may still name the thread that it waited for

  Returns  {"bound"}
           {"gone"}   the session no longer waits

  Invariant
    A session is bound to one thread. A repeat changes nothing (rule 13). A session that was reset or deleted meanwhile
    is not bound (rule 19).
]]
redis.call("HSET", topic_key, "state", address == "" and "failed" or "created", "thread", thread, "v", SCHEMA)
redis.call("EXPIRE", topic_key, keep_s)
if redis.call("HGET", threads, wanted) ~= session then
  return { "gone" }
end
redis.call("HDEL", threads, wanted)
if address == "" then
  redis.call("HDEL", row, "threadBinding")
else
  redis.call("HSET", threads, address, session)
  redis.call("HSET", row, "threadBinding", address)
end
if thread == "" then
  redis.call("HDEL", row, "lastThreadId")
else
  redis.call("HSET", row, "lastThreadId", thread)
end
return { "bound" }
