--[[
  Start a session anew at once, taking away whatever runs in it; or delete it.

  KEYS[1]  session row       hash
  KEYS[2]  session ctl       hash
  KEYS[3]  inbox             zset
  KEYS[4]  bound             zset
  KEYS[5]  receipts          hash
  KEYS[6]  transcript        list
  KEYS[7]  events            stream
  KEYS[8]  due               zset
  KEYS[9]  running           zset
  KEYS[10] current run       hash
  KEYS[11] sessions          zset
  KEYS[12] lane slots        zset
  KEYS[13] lane line         zset
  KEYS[14] what the key of an archive begins with   list
  KEYS[15] archives          hash
  KEYS[16] receipt ages      zset
  KEYS[17] unsettled children of the session   zset
  KEYS[18] reaps             hash
  KEYS[19] all children of the session         zset
  KEYS[20] files of the session                hash
  KEYS[21] threads           hash
  KEYS[22] orphans           hash

  ARGV[1]  session key
  ARGV[2]  the run the caller believes is current, or ""
  ARGV[3]  reset | delete
  ARGV[4]  new session id
  ARGV[5]  lane cap, 0 for none
  ARGV[6]  how long a granted slot is kept, milliseconds
  ARGV[7]  what there is of the run's result
  ARGV[8]  only if it is idle and was last used at this time; "" in any case

  Returns  {"done", granted, settled 0|1, session id that is over} | {"missing"} | {"used"} | {"other", current run}

  Invariant
    The lease goes with the old life (rule 6), so that nothing of a turn still in flight enters the new transcript.
    Waiting messages are cancelled with a receipt; nothing a paused owner writes can bring a deleted session back.
    The model call of an owner that is dead, or dies before it hears of this, is not forgotten (rule 14).
]]
local row, ctl, inbox, bound, receipts, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local events, due, running, run_key, sessions = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local slots, line, archive_prefix, archives, ages = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local session, run, verb, new_session_id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local live, reaps, children, files, orphans = KEYS[17], KEYS[18], KEYS[19], KEYS[20], KEYS[22]
local cap, grant_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local SEEN = 200 -- newest entries, of which most of a request is made
local now, reason = now_ms(), "session-" .. verb

if redis.call("EXISTS", row) == 0 then
  return { "missing" }
end
local old_session_id = redis.call("HGET", row, "sessionId") or ""
if old_session_id == new_session_id then
  return { "done", {}, 0, "" } -- a repeat (rule 13): what came since belongs to the new life
end
local c = redis.call("HMGET", ctl, "state", "run", "started", "fence", "owner", "lease_until", "resumed", "how", "settling")
local settled = 0
c[1] = c[1] or "idle"
if ARGV[8] ~= "" and (c[1] ~= "idle" or redis.call("HGET", row, "updatedAt") ~= ARGV[8]) then
  return { "used" }
end

-- With no tool at work its owner may be asking a model, and have nobody to take over from it. What that took is
-- estimated by the size of what was to be sent.
local function leave_call()
  local is_lost = c[1] == "queued" and c[7] == "1" and c[8] == "takeover"
  if (c[3] or "") ~= "" or c[4] == c[9] or not (c[1] == "running" or is_lost) then
    return
  end
  local size, fields, about = 0, redis.call("HGETALL", row), {}
  for _, raw in ipairs(redis.call("LRANGE", log, -SEEN, -1)) do
    size = size + #raw
  end
  for i = 1, #fields, 2 do
    about[fields[i]] = fields[i + 1]
  end
  local id = run .. ":" .. c[4]
  redis.call("HSET", orphans, id, cjson.encode({
    session = session, run = run, fence = tonumber(c[4]), owner = c[5] or "", tokens = math.ceil(size / 4), row = about,
  }))
  redis.call("ZADD", due, math.max(now, tonumber(c[6]) or now), "orphan|" .. id)
end

local at_work = c[1] ~= "idle"
if at_work and c[2] ~= run then
  return { "other", c[2] }
end
reap(reaps, due, live, session, now, reason)
if at_work then
  leave_call()
  if redis.call("HEXISTS", run_key, "batch") == 0 then
    drop_announces(inbox, log, receipts, events, ctl, now) -- a child's go up with its own result
  end
  local covers = settle_messages(bound, receipts, "+inf", "cancelled", run, now, reason)
  for _, id in ipairs(settle_messages(inbox, receipts, "+inf", "cancelled", nil, now, reason, false, true)) do
    covers[#covers + 1] = id
  end
  add_covers(run_key, covers)
  redis.call("HSET", run_key, "error", "the session was " .. (verb == "delete" and "deleted" or "reset"),
    "partial", ARGV[7])
  end_run(run_key, "killed", reason, now)
  event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason, raw = { covers = list_of(covers) } })
  leave_to_waiter(run_key, run, covers)
  end_wait(ctl, run_key, due, now)
  settled = settle_child(run_key, session, inbox, receipts, now, due, live, reaps)
  settle_messages(inbox, receipts, "+inf", "cancelled", nil, now, reason)
end
unbind_thread(row, KEYS[21])
redis.call("HDEL", ctl, "lease", "lease_until", "owner", "dropped")
redis.call("HSET", ctl, "state", "idle")
redis.call("ZREM", due, "turn|" .. session)
redis.call("ZREM", running, session)
redis.call("ZREM", slots, session)
redis.call("ZREM", line, run .. " " .. session)
event(events, ctl, now, verb == "delete" and "session.deleted" or "session.reset",
  { reason = reason, sessionId = new_session_id })
if verb == "delete" then
  cut_transcript(row, log, archive_prefix, archives, due, "", now, "delete",
    redis.call("EXISTS", files) == 1)
  redis.call("DEL", row, ctl, inbox, bound, files)
  -- Who was whose child is still asked for: by the announce that carries up what a deleted child did not hear.
  redis.call("EXPIRE", children, RUN_KEPT_S)
  redis.call("ZREM", sessions, session)
  -- Viewers and senders still read how their messages ended.
  redis.call("EXPIRE", events, 300)
  redis.call("EXPIRE", receipts, 86400)
  redis.call("EXPIRE", ages, 86400)
else
  cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, "reset")
  touch(sessions, session, now)
end
return { "done", grant(slots, line, due, cap, now, grant_ms), settled, old_session_id }
