--[[
  Children were stopped as ordered: remove the order, unless it covers more by now.

  keys
    stop_orders  hash  orders to stop children
    due          zset  index of due items
  args
    order  text    the order: a session key, or a run and its session
    item   text    its item in `due`
    upto   number  last child that was stopped

  Returns  {"ok"}

  Invariant
    An order that covers more children than were stopped stays (rule 12).
]]
local raw = redis.call("HGET", stop_orders, order)
if not raw or cjson.decode(raw).upto <= upto then
  redis.call("HDEL", stop_orders, order)
  redis.call("ZREM", due, item)
end
return { "ok" }
