--[[
  End a move: bind the agent to its new place, or to its old one if the move failed or was cancelled.

  includes  clock

  keys
    places      hash  agent -> the place it is bound to, or the move of it
    moves       hash  agent -> move that is under way
    move        hash  record of the move
    waits       set   sessions that wait for the end of the move
    waits_old   set   sessions that wait for the old place
    waits_next  set   sessions that wait for the place that the agent has now
  args
    agent  text  agent id
    id     text  move id
    state  text  done | failed | cancelled
    place  text  place that the agent is bound to now
    why    text  why it failed; empty otherwise

  Returns  {"ended"} | {"over", state}   it had ended before, in this state

  Invariant
    A move ends once. Sessions that waited are looked at when a worker sees the place.
]]
if redis.call("HGET", places, agent) ~= "moving " .. id then
  local ended = redis.call("HGET", move, "state") or "gone"
  return ended == state and { "ended" } or { "over", ended }
end
redis.call("HSET", places, agent, place)
redis.call("HDEL", moves, agent)
redis.call("HSET", move, "state", state, "error", why, "ended_at", now_ms())
redis.call("SUNIONSTORE", waits_next, waits_next, waits, waits_old)
redis.call("DEL", waits)
if waits_old ~= waits_next then
  redis.call("DEL", waits_old)
end
return { "ended" }
