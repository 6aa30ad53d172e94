--[[
  Renew every lease of one process, say that it lives, and bring back what its runs must know.

  KEYS[1]  worker            hash
  KEYS[2]  workers           zset
  KEYS[3]  due               zset
  KEYS[4]  memory            hash
  KEYS[5]  for each run: its session's ctl and its lane's slots, from KEYS[5] on

  ARGV[1]  worker id
  ARGV[2]  lease, milliseconds
  ARGV[3]  facts about the worker, a JSON object of strings
  ARGV[4]  how many runs follow; then session, lease and run id of each, from ARGV[5] on

  Returns  {drain 0|1, how full Redis is in per cent if that is too much for new work or else 0, for each run: "ok" | "lost" | abort reason}

  Invariant
    A lease is extended only by the process that holds it (rule 8), also when Redis is full.
]]
local worker_key, workers, due = KEYS[1], KEYS[2], KEYS[3]
local worker, lease_ms, facts, count = ARGV[1], tonumber(ARGV[2]), cjson.decode(ARGV[3]), tonumber(ARGV[4])
local first_key, first_arg = 5, 5
local now = now_ms()

for field, value in pairs(facts) do
  redis.call("HSET", worker_key, field, value)
end
redis.call("HSET", worker_key, "beat_at", now)
redis.call("EXPIRE", worker_key, 86400)
redis.call("ZADD", workers, now, worker)
redis.call("ZREMRANGEBYSCORE", workers, "-inf", now - 86400000)

watch_memory(KEYS[4], now)

local drain = redis.call("HGET", worker_key, "drain")
local answer = { drain and 1 or 0, lacks_memory(KEYS[4]) or 0 }
for i = 0, count - 1 do
  local ctl, slots = KEYS[first_key + 2 * i], KEYS[first_key + 2 * i + 1]
  local session, lease, run = ARGV[first_arg + 3 * i], ARGV[first_arg + 3 * i + 1], ARGV[first_arg + 3 * i + 2]
  -- One session whose record cannot be read must not keep the others from being renewed.
  local c = redis.pcall("HMGET", ctl, "lease", "abort", "abort_reason")
  if c.err or c[1] ~= lease then
    answer[#answer + 1] = "lost"
  else
    redis.call("HSET", ctl, "lease_until", now + lease_ms)
    redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
    redis.call("ZADD", slots, "XX", now + lease_ms, session)
    answer[#answer + 1] = c[2] == run and c[3] or "ok"
  end
end
return answer
