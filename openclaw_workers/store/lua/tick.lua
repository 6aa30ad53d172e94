--[[
  Renew every lease of one process, say that it lives, and bring back what its runs must know.

  includes  clock, memory, fence

  keys
    worker_key  hash  worker
    workers     zset  workers
    due         zset  due
    memory      hash  memory
    turn_keys…  keys  for each turn two: ctl of its session (hash), and slots of its lane (zset)
  args
    worker    text    worker id
    lease_ms  number  lease, milliseconds
    facts     json    facts about the worker, a JSON object of strings
    turns…    text    for each turn three: session, lease and run id

  Returns  {drain 0|1, how full Redis is in per cent if that is too much for new work or else 0, for each run: "ok" | "lost" | abort reason}

  Invariant
    A lease is extended only by the process that holds it (rule 8), also when Redis is full.
]]
local now = now_ms()

for field, value in pairs(facts) do
  redis.call("HSET", worker_key, field, value)
end
redis.call("HSET", worker_key, "beat_at", now)
redis.call("EXPIRE", worker_key, 86400)
redis.call("ZADD", workers, now, worker)
redis.call("ZREMRANGEBYSCORE", workers, "-inf", now - 86400000)

watch_memory(memory, now)

local drain = redis.call("HGET", worker_key, "drain")
local answer = { drain and 1 or 0, lacks_memory(memory) or 0 }
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
