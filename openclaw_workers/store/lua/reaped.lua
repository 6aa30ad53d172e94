--[[
  A session's children were stopped, up to one of them: forget the order to do so, unless a later one came meanwhile.

  KEYS[1]  reaps             hash
  KEYS[2]  due               zset

  ARGV[1]  session key
  ARGV[2]  its item in due
  ARGV[3]  up to which child it was done

  Returns  {"ok"}

  Invariant
    An order that reaches further than what was done stays (rule 12).
]]
local reaps, due = KEYS[1], KEYS[2]
local session, item, upto = ARGV[1], ARGV[2], tonumber(ARGV[3])
local raw = redis.call("HGET", reaps, session)
if not raw or cjson.decode(raw).upto <= upto then
  redis.call("HDEL", reaps, session)
  redis.call("ZREM", due, item)
end
return { "ok" }
