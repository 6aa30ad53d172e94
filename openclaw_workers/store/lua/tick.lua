--[[
  Renew all leases of one process, note that it is alive, and return what its turns must know.

  includes  clock, memory, fence, places, schema

  keys
    worker_key  hash  worker
    workers     zset  index of workers
    due         zset  index of due items
    memory      hash  how full Redis is
    drained     hash  hosts and workers that take no turns -> since when
    config      hash  the fleet's configuration
    held        zset  variables that live workers have
    places      hash  agent -> the place it is bound to
    places_seen  zset  place -> when a worker that takes turns last saw it
    places_apart  zset  agent -> when a live worker last did not see its place
    places_where  hash  place -> host and directory, for people
    waits_prefix  set  start of the key of the sessions that wait for a place
    moves         hash  agent -> move of its files that is under way
    turn_keys…  keys  for each turn two: control record of its session (hash), slots of its lane (zset)
  args
    worker    text    worker id
    lease_ms  number  length of a lease
    facts     json    facts about the worker, an object of strings
    secrets   json    variables of the configuration that this worker has
    workspaces   json  for each agent with a place: the place that this host sees for it, "" for none, and its directory
    takes_turns  flag  whether the worker takes turns
    turns…    text    for each turn three: session, lease, run id

  Returns  {drained 0|1, percentage of memory in use or 0 if there is room, id of the configuration in force or "",
            variables that live workers have, separated by spaces, agents whose wake-ups have a queue of their place:
            agent, place, agent …, moves of files that are under way: agent, move, agent …,
            for each turn: "ok" | "lost" | abort reason}

  Invariant
    Only the process that holds a lease renews it (rule 8), also when Redis is full. A binding is made once: where a
    directory already has an id, or by `take` on first use.
]]
local now = now_ms()
local ALIVE_MS = 15000

for field, value in pairs(facts) do
  redis.call("HSET", worker_key, field, value)
end
redis.call("HSET", worker_key, "beat_at", now, "v", SCHEMA)
redis.call("EXPIRE", worker_key, 86400)
redis.call("ZADD", workers, now, worker)
redis.call("ZREMRANGEBYSCORE", workers, "-inf", now - 86400000)

watch_memory(memory, now)

local is_drained = redis.call("HEXISTS", drained, worker) == 1 or redis.call("HEXISTS", drained, facts.host or "") == 1
redis.call("HSET", worker_key, "drain", is_drained and 1 or 0)
for _, name in ipairs(secrets) do
  redis.call("ZADD", held, now, name)
end
redis.call("ZREMRANGEBYSCORE", held, "-inf", now - ALIVE_MS)
redis.call("ZREMRANGEBYSCORE", held, now + ALIVE_MS, "+inf") -- from before the clock stepped back
local known = table.concat(redis.call("ZRANGE", held, 0, -1), " ")

local function look_at_places()
  local agents, routes = {}, {}
  for agent in pairs(workspaces) do
    agents[#agents + 1] = agent
  end
  local bound = #agents > 0 and redis.call("HMGET", places, unpack(agents)) or {}
  for i, agent in ipairs(agents) do
    local place, directory = unpack(workspaces[agent])
    if not bound[i] and place ~= "" then
      redis.call("HSET", places, agent, place)
      bound[i] = place
    end
    -- A service worker or a drained one sees the place, but runs no turns there.
    if bound[i] == place and takes_turns and not is_drained then
      redis.call("ZADD", places_seen, now, place)
      redis.call("HSET", places_where, place, (facts.host or "") .. ":" .. directory)
      wake_waiting_at(waits_prefix, place, due, now)
    elseif bound[i] and bound[i] ~= place then
      redis.call("ZADD", places_apart, now, agent)
    end
  end
  redis.call("ZREMRANGEBYSCORE", places_apart, "-inf", now - ALIVE_MS)
  redis.call("ZREMRANGEBYSCORE", places_apart, now + ALIVE_MS, "+inf")
  for i, agent in ipairs(redis.call("EXISTS", places_apart) == 1 and agents or {}) do
    if queue_for("", places, places_apart, agent) ~= "" then
      routes[#routes + 1], routes[#routes + 2] = agent, bound[i]
    end
  end
  return routes
end

local answer = { is_drained and 1 or 0, lacks_memory(memory) or 0, redis.call("HGET", config, "id") or "", known,
  look_at_places(), redis.call("HGETALL", moves) }
for i = 1, #turn_keys / 2 do
  local ctl, slots = turn_keys[2 * i - 1], turn_keys[2 * i]
  local session, lease, run = unpack(turns, 3 * i - 2, 3 * i)
  -- One session whose record cannot be read must not keep the others from being renewed.
  local is_readable, owns, c = pcall(check_lease, ctl, lease, "abort", "abort_reason")
  if not is_readable or not owns then
    answer[#answer + 1] = "lost"
  else
    redis.call("HSET", ctl, "lease_until", now + lease_ms)
    redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
    redis.call("ZADD", slots, "XX", now + lease_ms, session)
    answer[#answer + 1] = c.abort == run and c.abort_reason or "ok"
  end
end
return answer
