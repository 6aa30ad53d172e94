--[[
  Make a worker the owner of a session that has work, and hand it all it needs for the turn.

  KEYS[1]  session row       hash
  KEYS[2]  session ctl       hash
  KEYS[3]  inbox             zset
  KEYS[4]  bound             zset
  KEYS[5]  receipts          hash
  KEYS[6]  transcript        list
  KEYS[7]  events            stream
  KEYS[8]  due               zset
  KEYS[9]  running           zset
  KEYS[10] run               hash
  KEYS[11] suspects          hash
  KEYS[12] lane slots        zset
  KEYS[13] lane line         zset
  KEYS[14] lane ticket       string
  KEYS[15] archive to fill   list
  KEYS[16] archives          hash
  KEYS[17] sweep             hash

  ARGV[1]  session key
  ARGV[2]  run id of the wake-up
  ARGV[3]  nonce of this attempt to take
  ARGV[4]  worker id
  ARGV[5]  lease, milliseconds
  ARGV[6]  lane cap, 0 for none
  ARGV[7]  1 if this process carries no suspect
  ARGV[8]  time the run may take, milliseconds
  ARGV[9]  when the session is stale, JSON: by channel ("" for others) the last daily boundary (epoch milliseconds,
           0 for none) and the idle time (milliseconds, 0 for never)
  ARGV[10] session id if the session starts anew
  ARGV[11] archive id if the session starts anew
  ARGV[12] transcript entries to return
  ARGV[13] most messages collected into one turn

  Returns  {"taken", lease, step, attempt, resumed 0|1, started call, deadline, now, abort reason or "",
            bound messages, transcript length, transcript tail, row as a flat list}
           {"gone"} | {"idle"} | {"stale"} | {"held"} | {"early"} | {"lane"} | {"suspect"}

  Invariant
    One owner at a time: the lease is `fence:nonce` with a fence that only grows (rule 6). Messages leave the inbox
    only bound to the run that answers them, in order (rule 10). The same nonce gets the same answer (rule 13).
]]
local row, ctl, inbox, bound, receipts, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local events, due, running, run_key, suspects = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local slots, line, ticket_key, archive, archives, sweep = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local session, run, nonce, worker, lease_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local cap, may_suspect, time_ms = tonumber(ARGV[6]), ARGV[7] == "1", tonumber(ARGV[8])
local stale, new_session_id, archive_id = cjson.decode(ARGV[9]), ARGV[10], ARGV[11]
local tail, most = tonumber(ARGV[12]), tonumber(ARGV[13])
local now = now_ms()

local function answer()
  local c = redis.call("HMGET", ctl, "lease", "step", "attempt", "resumed", "started", "abort", "abort_reason")
  return { "taken", c[1], c[2], c[3], c[4], c[5] or "", redis.call("HGET", run_key, "deadline_at"), now,
    c[6] == run and c[7] or "", redis.call("ZRANGE", bound, 0, -1), redis.call("LLEN", log),
    redis.call("LRANGE", log, -tail, -1), redis.call("HGETALL", row) }
end

local c = redis.call("HMGET", ctl, "state", "run", "lease", "ready_at", "attempt", "fence", "resumed", "ticket", "how")
local state, attempt, resumed = c[1], tonumber(c[5]) or 1, c[7] == "1"
if not state then
  return { "gone" }
end
if state == "idle" then
  return { "idle" }
end
if c[2] ~= run then
  return { "stale" }
end
if state == "running" then
  if c[3] == (c[6] or "") .. ":" .. nonce then
    return answer()
  end
  return { "held" }
end
if (tonumber(c[4]) or 0) > now then
  return { "early" }
end
if attempt >= 2 and not may_suspect then
  redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
  return { "suspect" }
end

if cap > 0 then
  if not in_grace(sweep, now, lease_ms) then
    redis.call("ZREMRANGEBYSCORE", slots, "-inf", "(" .. now)
  end
  local place = run .. " " .. session
  if not redis.call("ZSCORE", slots, session) then
    local head = redis.call("ZRANGE", line, 0, 0)[1]
    if redis.call("ZCARD", slots) >= cap or (head and head ~= place) then
      local ticket = tonumber(c[8]) or redis.call("INCR", ticket_key)
      redis.call("HSET", ctl, "ticket", ticket)
      redis.call("ZADD", line, ticket, place)
      redis.call("ZADD", due, now + 60000, "turn|" .. session)
      return { "lane" }
    end
  end
  if not c[8] then
    redis.call("HSET", ctl, "ticket", redis.call("INCR", ticket_key))
  end
  redis.call("ZREM", line, place)
  redis.call("ZADD", slots, now + lease_ms, session)
end

local lease = redis.call("HINCRBY", ctl, "fence", 1) .. ":" .. nonce
redis.call("HSET", ctl, "state", "running", "lease", lease, "lease_until", now + lease_ms, "owner", worker,
  "progress", 0, "resumed", resumed and 1 or 0)
redis.call("ZADD", due, now + lease_ms, "turn|" .. session)
redis.call("ZADD", running, now, session)
if attempt >= 2 then
  redis.call("HSET", suspects, worker, run)
elseif may_suspect then
  redis.call("HDEL", suspects, worker) -- a process that was only paused lost its suspect to another
end

local covers = {}
if not resumed then
  -- Rule 9: whether the session starts anew is decided here, in inbox order.
  local r = redis.call("HMGET", row, "lastInteractionAt", "lastChannel")
  local seen, limits = tonumber(r[1]) or now, stale[r[2] or ""] or stale[""]
  if seen < limits[1] or (limits[2] > 0 and now - seen > limits[2]) then
    cut_transcript(row, log, archive, archives, due, archive_id, new_session_id, now, "stale")
    event(events, ctl, now, "session.reset", { reason = "stale", sessionId = new_session_id })
  end
  local entries, first = {}, nil
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, most - 1)) do
    local entry = read_message(raw)
    local merges = first and entry.kind == "user" and first.kind == "user" and entry.mode == "collect"
      and first.mode == "collect" and entry.authority == first.authority and entry.address == first.address
      and not entry.model and not first.model
    if first and not merges then
      break
    end
    first = first or entry
    entries[#entries + 1] = entry
    covers[#covers + 1] = entry.id
    redis.call("ZREM", inbox, raw)
    redis.call("ZADD", bound, entry.seq, raw)
    receipt(receipts, entry, "bound", run, now)
  end
  if first and first.kind ~= "command" and first.kind ~= "unreadable" then
    local dropped = cjson.decode(redis.call("HGET", ctl, "dropped") or "[]")
    redis.call("HDEL", ctl, "dropped")
    redis.call("RPUSH", log, user_entry(entries, run, now, first.metadata.provenance, dropped))
  end
  redis.call("HSET", run_key, "covers", cjson.encode(covers), "started_at", now, "deadline_at", now + time_ms,
    "session_id", redis.call("HGET", row, "sessionId"))
  redis.call("HSET", ctl, "resumed", 0)
end
redis.call("HSET", run_key, "state", "running", "attempt", attempt)
add_attempt(run_key, worker, now, c[9] or "taken")
event(events, ctl, now, "run.started",
  { run = run, attempt = attempt, worker = worker, covers = cjson.decode(redis.call("HGET", run_key, "covers")) })
return answer()
