--[[
  Look at one session that is due, and put right what is wrong with it.

  KEYS[1]  session ctl       hash
  KEYS[2]  due               zset
  KEYS[3]  running           zset
  KEYS[4]  suspects          hash
  KEYS[5]  sweep             hash
  KEYS[6]  run               hash
  KEYS[7]  lane slots        zset
  KEYS[8]  lane line         zset
  KEYS[9]  events            stream

  ARGV[1]  session key
  ARGV[2]  run the sweeper believes is current
  ARGV[3]  lease, milliseconds
  ARGV[4]  attempts a run gets at one step; three times as many in all
  ARGV[5]  milliseconds until a wake-up counts as lost
  ARGV[6]  when the oldest message in the lane's queue was published, epoch milliseconds, 0 if the queue is empty
  ARGV[7]  lane cap, 0 for none
  ARGV[8]  how long a granted slot is kept, milliseconds
  ARGV[9]  nonce, for the lease that the sweeper takes to settle a lost run
  ARGV[10] worker id of the sweeper

  Returns  {"wake", granted} | {"settle", lease, granted, workers it lost, 1 if it stood still} | {"wait"} | {"gone", granted} | {"other", run}

  Invariant
    An expired lease is replaced in the same moment it is judged (rule 6). A crash is charged to the suspect of its
    process if there was one, and never to a run whose journal moved since it was taken (rule 5). Wake-ups are repeated
    with growing distance, and not while the queue still holds older ones (rule 15). An owner that may have been asking a
    model is not forgotten before its call is booked (rule 14).
]]
local ctl, due, running, suspects, sweep, run_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local slots, line, events = KEYS[7], KEYS[8], KEYS[9]
local session, run, lease_ms, most, rewake_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local oldest, cap, grant_ms, nonce, sweeper = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]
local CLOCKS_APART_MS = 5000 -- the queue's times are by the publishers' clocks
local now = now_ms()
local item = "turn|" .. session

local c = redis.call("HMGET", ctl, "state", "run", "lease_until", "owner", "progress", "attempt", "ticket", "ready_at",
  "woken_at", "wakes", "losses", "stalls", "resumed", "fence", "started", "settling")
local state, attempt = c[1], tonumber(c[6]) or 1
local woken_at = math.min(tonumber(c[9]) or 0, now) -- it lies ahead if the clock stepped back
if not state or state == "idle" then
  redis.call("ZREM", due, item)
  redis.call("ZREM", slots, session)
  redis.call("ZREM", line, run .. " " .. session)
  return { "gone", grant(slots, line, due, cap, now, grant_ms) }
end
if c[2] ~= run then
  return { "other", c[2] }
end

local function wait_until(at)
  redis.call("ZADD", due, at, item)
  return { "wait" }
end

if state == "running" then
  local ends = lease_end(sweep, tonumber(c[3]) or 0, now, lease_ms)
  if ends ~= tonumber(c[3]) then
    redis.call("HSET", ctl, "lease_until", ends)
  end
  if ends > now then
    return wait_until(ends)
  end
  if in_grace(sweep, now, lease_ms) then
    return wait_until(now + lease_ms)
  end
  -- Kept afterwards: the neighbours of a suspect may be judged after it, and are not to be charged either.
  local suspect = redis.call("HGET", suspects, c[4])
  local losses, stalls = (tonumber(c[11]) or 0) + 1, tonumber(c[12]) or 0
  if not suspect or suspect == run then
    -- A crash after progress costs no attempt, but it is the first one at the step that comes next.
    if c[5] == "1" then
      stalls = 1
    else
      stalls, attempt = stalls + 1, attempt + 1
    end
  end
  event(events, ctl, now, "run.lost", { run = run, worker = c[4], attempt = attempt })
  note_dead_owner(run_key, c[14], c[15], c[16])
  redis.call("ZREM", slots, session)
  if stalls >= most or losses > 3 * most then
    local fence = redis.call("HINCRBY", ctl, "fence", 1)
    local lease = fence .. ":" .. nonce
    redis.call("HSET", ctl, "lease", lease, "lease_until", now + lease_ms, "owner", sweeper,
      "settling", fence, "attempt", attempt, "losses", losses, "stalls", stalls)
    redis.call("ZADD", due, now + lease_ms, item)
    return { "settle", lease, grant(slots, line, due, cap, now, grant_ms), losses, stalls >= most and 1 or 0 }
  end
  redis.call("HDEL", ctl, "lease", "lease_until", "owner")
  redis.call("HSET", ctl, "state", "queued", "resumed", 1, "how", "takeover", "attempt", attempt, "losses", losses,
    "stalls", stalls, "ready_at", 0, "wakes", 0)
  redis.call("HSET", run_key, "state", "queued", "attempt", attempt)
  redis.call("ZREM", running, session)
  if cap > 0 then
    redis.call("ZADD", line, tonumber(c[7]) or 0, run .. " " .. session)
    redis.call("ZADD", due, now + 60000, item)
    return { "wait", grant(slots, line, due, cap, now, grant_ms) }
  end
elseif state == "parked" then
  -- One that waits for its children is woken by their announce, and looked at only when its time is over. One that waits
  -- in a call finds out by itself whether what it waited for has come.
  local deadline = tonumber(redis.call("HGET", run_key, "deadline_at")) or 0
  if c[13] == "0" and deadline > now then
    return wait_until(deadline)
  end
  redis.call("HSET", ctl, "state", "queued", "ready_at", 0, "wakes", 0)
  redis.call("HSET", run_key, "state", "queued")
elseif starts_at(c[8], c[9], now) > now then
  return wait_until(tonumber(c[8]))
elseif cap > 0 and tonumber(c[7]) then
  -- Waiting for a lane, or granted a slot that nobody used: back into the line under the old ticket.
  local slot = tonumber(redis.call("ZSCORE", slots, session) or 0)
  if slot > now and slot <= now + grant_ms then -- one beyond that was granted before the clock stepped back
    return wait_until(slot)
  end
  redis.call("ZREM", slots, session)
  redis.call("ZADD", line, tonumber(c[7]), run .. " " .. session)
  redis.call("ZADD", due, now + 60000, item)
  return { "wait", grant(slots, line, due, cap, now, grant_ms) }
elseif (tonumber(c[8]) or 0) == 0 and oldest > 0 and oldest <= woken_at + CLOCKS_APART_MS then
  redis.call("HSET", ctl, "woken_at", woken_at)
  return wait_until(now + 4 * lease_ms)
end

local wakes = (tonumber(c[10]) or 0) + 1
if state == "running" then
  wakes = 1
end
redis.call("HSET", ctl, "wakes", wakes, "woken_at", now, "ready_at", 0)
redis.call("ZADD", due, now + math.min(rewake_ms * 2 ^ (wakes - 1), 60000), item)
return { "wake", {} }
