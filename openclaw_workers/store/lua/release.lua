--[[
  Give a running turn back unfinished, with its journal complete, for another worker to continue.

  KEYS[1]  session ctl       hash
  KEYS[2]  due               zset
  KEYS[3]  running           zset
  KEYS[4]  run               hash
  KEYS[5]  suspects          hash
  KEYS[6]  lane slots        zset
  KEYS[7]  lane line         zset
  KEYS[8]  events            stream

  ARGV[1]  session key
  ARGV[2]  lease
  ARGV[3]  run id
  ARGV[4]  worker id
  ARGV[5]  usage of the abandoned call, JSON
  ARGV[6]  lane cap, 0 for none
  ARGV[7]  how long a granted slot is kept, milliseconds
  ARGV[8]  milliseconds until a wake-up counts as lost

  Returns  {"released", granted: run, session, …} | {"lost"}

  Invariant
    The run keeps its messages, its step and its lane ticket, and is charged no attempt (rule 5). A repeat with the same
    lease counts nothing twice and says "released" again, so that the wake-up is not forgotten (rule 13).
]]
local ctl, due, running, run_key, suspects = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local slots, line, events = KEYS[6], KEYS[7], KEYS[8]
local session, lease, run, worker, usage = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local cap, grant_ms, rewake_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local now = now_ms()

local c = redis.call("HMGET", ctl, "lease", "ticket")
if c[1] ~= lease then
  if redis.call("HGET", run_key, "released_by") == lease then
    return { "released", {} }
  end
  return { "lost" }
end
add_usage(run_key, usage)
redis.call("HDEL", ctl, "lease", "lease_until", "owner")
redis.call("HSET", ctl, "state", "queued", "resumed", 1, "how", "handover", "ready_at", 0, "wakes", 1, "woken_at", now)
redis.call("HSET", run_key, "state", "queued", "released_by", lease)
redis.call("ZREM", running, session)
redis.call("ZADD", due, now + rewake_ms, "turn|" .. session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
redis.call("ZREM", slots, session)
event(events, ctl, now, "run.released", { run = run, worker = worker })
if cap > 0 then
  redis.call("ZADD", line, tonumber(c[2]) or 0, run .. " " .. session)
end
return { "released", grant(slots, line, due, cap, now, grant_ms) }
