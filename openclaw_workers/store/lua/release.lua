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
  KEYS[9]  who waits for answers of another session   hash; only to park
  KEYS[10] ledger of the day   hash
  KEYS[11] ledger of the day before   hash
  KEYS[12] for each budget two, from KEYS[12] on: what is spent and what is set aside   hashes

  ARGV[1]  session key
  ARGV[2]  lease
  ARGV[3]  run id
  ARGV[4]  worker id
  ARGV[5]  lane cap, 0 for none
  ARGV[6]  how long a granted slot is kept, milliseconds
  ARGV[7]  milliseconds until a wake-up counts as lost
  ARGV[8]  0 to hand over; or to park, how long to wait for an answer, milliseconds
  ARGV[9]  the message whose answer is waited for
  ARGV[10] what to book, JSON: calls, a list of {id, entry, amounts, usage}, and attempts, a list of {id, attempt}

  Returns  {"released", granted: run, session, …} | {"parked", granted} | {"lost"}

  Invariant
    The run keeps its messages, its step and its lane ticket, and is charged no attempt (rule 5); a step it has got past
    counts no more. A repeat with the same
    lease counts nothing twice and says "released" again, so that the wake-up is not forgotten (rule 13). A run parks
    only while the answer it waits for has not come and nobody stops it; otherwise it is handed over, and goes on at once
    (rule 2). It does not rest beyond its deadline.
]]
local ctl, due, running, run_key, suspects = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local slots, line, events = KEYS[6], KEYS[7], KEYS[8]
local session, lease, run, worker = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local cap, grant_ms, rewake_ms, wait_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local first_budget = 12
local now = now_ms()

local c = redis.call("HMGET", ctl, "lease", "ticket", "abort", "progress")
book(KEYS[10], KEYS[11], ARGV[10], run, run_key, c[1] == lease, KEYS, first_budget)
if c[1] ~= lease then
  if redis.call("HGET", run_key, "released_by") == lease then
    return { "released", {} }
  end
  return { "lost" }
end
unreserve(run, KEYS, first_budget)
redis.call("HDEL", ctl, "lease", "lease_until", "owner")
local parks = wait_ms > 0 and c[3] ~= run and redis.call("HEXISTS", KEYS[9], ARGV[9]) == 1
local rests_ms = math.min(wait_ms, (tonumber(redis.call("HGET", run_key, "deadline_at")) or now + wait_ms) - now)
local state = parks and "parked" or "queued"
redis.call("HSET", ctl, "state", state, "resumed", 1, "how", parks and "unpark" or "handover", "ready_at", 0, "wakes", 1,
  "woken_at", now)
if c[4] == "1" then
  redis.call("HSET", ctl, "stalls", 0) -- it got further here: what is lost at the next step is its first loss there
end
redis.call("HSET", run_key, "state", state, "released_by", lease)
redis.call("ZREM", running, session)
redis.call("ZADD", due, now + (parks and rests_ms or rewake_ms), "turn|" .. session)
if redis.call("HGET", suspects, worker) == run then
  redis.call("HDEL", suspects, worker)
end
redis.call("ZREM", slots, session)
if parks then
  redis.call("HSET", ctl, "ticket", "")
  event(events, ctl, now, "run.parked", { run = run, waits_for = ARGV[9] })
  return { "parked", grant(slots, line, due, cap, now, grant_ms) }
end
event(events, ctl, now, "run.released", { run = run, worker = worker })
if cap > 0 then
  redis.call("ZADD", line, tonumber(c[2]) or 0, run .. " " .. session)
end
return { "released", grant(slots, line, due, cap, now, grant_ms) }
