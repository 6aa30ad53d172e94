--[[
  A session's children were stopped, or those of one of its runs: forget the order, unless it reaches further by now.

  keys
    reaps  hash  reaps
    due    zset  due
  args
    order  text    the order: a session key, or a run and its session
    item   text    its item in due
    upto   number  up to which child it was done

  Returns  {"ok"}

  Invariant
    An order that reaches further than what was done stays (rule 12).
]]
local raw = redis.call("HGET", reaps, order)
if not raw or cjson.decode(raw).upto <= upto then
  redis.call("HDEL", reaps, order)
  redis.call("ZREM", due, item)
end
return { "ok" }
