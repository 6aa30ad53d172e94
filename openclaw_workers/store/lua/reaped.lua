--[[
  A session's children were stopped, or those of one of its runs: forget the order, unless it reaches further by now.

  KEYS[1]  reaps             hash
  KEYS[2]  due               zset

  ARGV[1]  the order: a session key, or a run and its session
  ARGV[2]  its item in due
  ARGV[3]  up to which child it was done

  Returns  {"ok"}

  Invariant
    An order that reaches further than what was done stays (rule 12).
]]
local reaps, due = KEYS[1], KEYS[2]
local order, item, upto = ARGV[1], ARGV[2], tonumber(ARGV[3])
local raw = redis.call("HGET", reaps, order)
if not raw or cjson.decode(raw).upto <= upto then
  redis.call("HDEL", reaps, order)
  redis.call("ZREM", due, item)
end
return { "ok" }
