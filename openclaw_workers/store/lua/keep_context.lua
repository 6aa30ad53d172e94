--[[
  Keep a message of a group that is not for the bot, as context of the bot's next turn there.

  includes  clock

  keys
    context  zset  messages -> when they were kept
  args
    message  text    the message, a JSON object; the same each time the channel delivers it
    most     number  how many are kept, the latest ones
    keep_s   number  seconds after which all are forgotten, if no other comes

  Returns  {"kept", how many there are}

  Invariant
    A message is kept once. No more than `most` are kept. Places grow, also after all were forgotten: whoever forgets
    what it has read forgets nothing that came later.
]]
if not redis.call("ZSCORE", context, message) then
  local last = tonumber(redis.call("ZRANGE", context, -1, -1, "WITHSCORES")[2]) or 0
  redis.call("ZADD", context, math.max(last + 1, now_us()), message)
  redis.call("ZREMRANGEBYRANK", context, 0, -most - 1)
  redis.call("EXPIRE", context, keep_s)
end
return { "kept", redis.call("ZCARD", context) }
