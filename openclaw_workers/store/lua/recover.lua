--[[
  Look at one due session and repair what is wrong with it: wake it, requeue it, or settle its lost run.

  includes  clock, hashes, events, ledger, lanes, runs, outgoing, places

  keys
    ctl       hash    session control record
    due       zset    index of due items
    running   zset    index of running sessions
    suspects  hash    worker -> the suspect run it carries
    sweep     hash    when sweeps ran, and clock steps
    run_key   hash    run record
    slots     zset    slots of the lane
    line      zset    line for a slot of the lane
    events    stream  events for viewers
    row       hash    session row
    outgoing  stream  new messages to chats
    places    hash    agent -> the place it is bound to
    places_seen  zset    place -> when a worker that takes turns last saw it
    places_where  hash    place -> host and directory, for people
    waits_prefix  set  start of the key of the sessions that wait for a place
  args
    session    text    session key
    run        text    run that the sweeper believes is current
    lease_ms   number  length of a lease
    most       number  attempts of a run at one step; three times as many in all
    rewake_ms  number  milliseconds after which an unanswered wake-up counts as lost
    oldest     number  when the oldest message in the lane's queue was published, 0 if the queue is empty
    cap        number  cap of the lane, 0 for none
    grant_ms   number  how long a granted slot is kept
    nonce      text    nonce of the lease with which the sweeper settles a lost run
    sweeper    text    worker id of the sweeper
    agent      text    agent id
    is_placed  flag    whether the agent runs only where its files are
    delivery   json    what goes to the chat if the run waits for its place: policies (by channel that pushes), messages

  Returns  {"wake", granted} | {"wait"} | {"wait", granted} | {"gone", granted} | {"other", run}
           {"end", granted}   wake it; any worker can end it, because it was stopped
           {"settle", lease, granted, workers the run has lost, 1 if the last one made no progress}

  Invariant
    An expired lease is replaced in the moment it is judged (rule 6). A crash is charged to the suspect of its process
    if there was one, and never to a run that made progress since it was taken (rule 5). Wake-ups are repeated at
    growing intervals, and not while the queue still holds older ones (rule 15). An owner that may have been calling a
    model is remembered until its call is recorded (rule 14). A run whose place no worker sees holds no slot and stands
    in no line; it is due again when a worker sees the place.
]]
local CLOCKS_APART_MS = 5000 -- times in the queue are by the publishers' clocks
local now = now_ms()
local item = "turn|" .. session

local c = fields(ctl, "state", "run", "lease_until", "owner", "progress", "attempt", "ticket", "ready_at",
  "woken_at", "wakes", "losses", "stalls", "resumed", "fence", "started", "settling", "abort")
local state, attempt = c.state, tonumber(c.attempt) or 1
local woken_at = math.min(tonumber(c.woken_at) or 0, now) -- in the future if the clock stepped back
if not state or state == "idle" then
  redis.call("ZREM", due, item)
  leave_lane(slots, line, run, session)
  return { "gone", grant(slots, line, due, cap, now, grant_ms) }
end
if c.run ~= run then
  return { "other", c.run }
end

local function wait_until(at)
  redis.call("ZADD", due, at, item)
  return { "wait" }
end

-- Wait for the place of the agent, if no worker sees it. A run that was stopped needs no files to end.
local PLACE_LOOK_MS = 60000
local function wait_if_place_is_lost()
  local place, seen_at
  if is_placed and c.abort ~= run and not in_grace(sweep, now, lease_ms) then
    place, seen_at = lost_place(places, places_seen, agent, now)
  end
  if not place then
    return nil
  end
  leave_lane(slots, line, run, session)
  local keys = { ctl = ctl, row = row, run_key = run_key, events = events, outgoing = outgoing, where = places_where,
    waits_prefix = waits_prefix }
  wait_for_place(keys, place, seen_at, last_route(delivery.policies, row), delivery,
    { session = session, run = run, agent = agent }, now)
  redis.call("ZADD", due, now + PLACE_LOOK_MS, item)
  return { "wait", grant(slots, line, due, cap, now, grant_ms) }
end

local lost
if state == "running" then
  local ends = lease_end(sweep, tonumber(c.lease_until) or 0, now, lease_ms)
  if ends ~= tonumber(c.lease_until) then
    redis.call("HSET", ctl, "lease_until", ends)
  end
  if ends > now then
    return wait_until(ends)
  end
  if in_grace(sweep, now, lease_ms) then
    return wait_until(now + lease_ms)
  end
  -- The suspect stays noted: other turns of its process may be judged later, and must not be charged either.
  local suspect = redis.call("HGET", suspects, c.owner)
  local losses, stalls = (tonumber(c.losses) or 0) + 1, tonumber(c.stalls) or 0
  if not suspect or suspect == run then
    -- A crash after progress costs no attempt, but counts as the first one at the next step.
    if c.progress == "1" then
      stalls = 1
    else
      stalls, attempt = stalls + 1, attempt + 1
    end
  end
  event(events, ctl, now, "run.lost", { run = run, worker = c.owner, attempt = attempt })
  note_dead_owner(run_key, c.fence, c.started, c.settling)
  -- The time of its last heartbeat: every tick renews the lease for its whole length.
  leave_attempt(run_key, math.min(now, ends - lease_ms), "lost")
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
  lost = wait_if_place_is_lost()
  if lost then
    return lost
  elseif cap > 0 then
    stand_in_line(line, due, run, session, tonumber(c.ticket) or 0, now)
    return { "wait", grant(slots, line, due, cap, now, grant_ms) }
  end
elseif state == "parked" then
  -- A run that waits for its children is woken by their announce, so only its deadline matters here. A run that waits
  -- in a call checks by itself whether the answer has come.
  local deadline = tonumber(redis.call("HGET", run_key, "deadline_at")) or 0
  if c.resumed == "0" and deadline > now then
    return wait_until(deadline)
  end
  redis.call("HSET", ctl, "state", "queued", "ready_at", 0, "wakes", 0)
  redis.call("HSET", run_key, "state", "queued")
  mark_attempt(run_key, "woken", now)
  lost = wait_if_place_is_lost()
elseif starts_at(c.ready_at, c.woken_at, now) > now then
  return wait_until(tonumber(c.ready_at))
else
  lost = wait_if_place_is_lost()
end
if lost then
  return lost
elseif state ~= "queued" then
  -- Its wake-up follows.
elseif cap > 0 and tonumber(c.ticket) then
  -- It waits for a lane, or nobody used the slot it was granted: back into the line with the old ticket.
  local slot = tonumber(redis.call("ZSCORE", slots, session) or 0)
  if slot > now and slot <= now + grant_ms then -- a later one was granted before the clock stepped back
    return wait_until(slot)
  end
  redis.call("ZREM", slots, session)
  stand_in_line(line, due, run, session, tonumber(c.ticket), now)
  return { "wait", grant(slots, line, due, cap, now, grant_ms) }
elseif (tonumber(c.ready_at) or 0) == 0 and c.abort ~= run and oldest > 0 and oldest <= woken_at + CLOCKS_APART_MS then
  redis.call("HSET", ctl, "woken_at", woken_at)
  return wait_until(now + 4 * lease_ms)
end

local wakes = (tonumber(c.wakes) or 0) + 1
if state == "running" then
  wakes = 1
end
redis.call("HSET", ctl, "wakes", wakes, "woken_at", now, "ready_at", 0)
redis.call("ZADD", due, now + math.min(rewake_ms * 2 ^ (wakes - 1), 60000), item)
return { c.abort == run and "end" or "wake", {} }
