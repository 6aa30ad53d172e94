--[[
  Begin to move the files of an agent to another host: from now on none of its turns is taken.

  includes  clock, schema

  keys
    places   hash  agent -> the place it is bound to, or the move of it
    moves    hash  agent -> move that is under way
    running  zset  index of running sessions
    move     hash  record of this move
  args
    agent       text    agent id
    own         text    what the keys of its sessions begin with
    id          text    move id
    to_host     text    host that gets the files
    to_place    text    id of the place that it makes there
    with_files  flag    whether the files are copied; otherwise it begins empty
    keep_s      number  seconds for which the record is kept

  Returns  {"begun", id}
           {"moving", id of the move that is under way}   nothing was changed, like in the following
           {"unbound"}   the agent has no place yet
           {"busy", session}   a turn of the agent is running

  Invariant
    A move begins only while no turn of the agent runs, and no turn begins before it has ended.
]]
local current = redis.call("HGET", moves, agent)
if current then
  return { current == id and "begun" or "moving", current }
end
local from = redis.call("HGET", places, agent)
if not from then
  return { "unbound" }
end
for _, session in ipairs(redis.call("ZRANGE", running, 0, -1)) do
  if string.sub(session, 1, #own) == own then
    return { "busy", session }
  end
end
redis.call("HSET", places, agent, "moving " .. id)
redis.call("HSET", moves, agent, id)
redis.call("HSET", move, "id", id, "agent", agent, "from_place", from, "to_host", to_host, "to_place", to_place,
  "with_files", with_files and 1 or 0, "state", "copying", "began_at", now_ms(), "v", SCHEMA)
redis.call("EXPIRE", move, keep_s)
return { "begun", id }
