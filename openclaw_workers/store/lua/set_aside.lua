--[[
  Move keys of a session out of its way that hold another type than they should, and put a state right that is none.

  KEYS[1]  session row       hash
  KEYS[2]  transcript        list
  KEYS[3]  session ctl       hash
  KEYS[4]  due               zset
  KEYS[5]  sessions          zset
  KEYS[6]  a place for the record of its run
  KEYS[7]  the keys of the session from KEYS[7] on, then a place for each of them in the same order

  ARGV[1]  how long what was moved is kept, seconds
  ARGV[2]  session id if the row or the transcript is moved
  ARGV[3]  row fields of a new session, JSON object of strings
  ARGV[4]  session key
  ARGV[5]  the type that each of the keys should have, from ARGV[5] on

  Returns  {"moved", the state it had, the state it has now or "" if it was right,
            key, place, type it has, type it should have, key …}

  Invariant
    What fits stays where it is. What does not holds nothing that a script could read, and each would fail at it; it is
    kept for a person. A session whose transcript was moved begins a new life, since what others remember of the old one
    is no longer the beginning of this. One that is listed or at work has a row afterwards, as `take` and whoever ends it
    must find. One at work has a record of its run too; a child's is nobody's then, since only the old one named its
    batch. A state that is none becomes what lease and run record say, and all else that ctl knows (fence, sequence) is
    kept.
]]
local row, log, ctl, kept_seconds, session_id = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local due, sessions, session, fields = KEYS[4], KEYS[5], ARGV[4], cjson.decode(ARGV[3])
local first_key, first_type = 7, 5
local count, moved, lost_row, now = (#KEYS - first_key + 1) / 2, { "moved", "", "" }, false, now_ms()

local function move(key, place, wanted)
  for _, told in ipairs({ key, place, redis.call("TYPE", key).ok, wanted }) do
    moved[#moved + 1] = told
  end
  redis.call("RENAME", key, place)
  redis.call("EXPIRE", place, kept_seconds)
end

for index = 0, count - 1 do
  local key, place, wanted = KEYS[first_key + index], KEYS[first_key + count + index], ARGV[first_type + index]
  if not fit({ [key] = wanted }) then
    move(key, place, wanted)
    lost_row = lost_row or key == row
    if key == log and redis.call("TYPE", row).ok == "hash" then
      redis.call("HSET", row, "sessionId", session_id, "sessionStartedAt", now)
    end
  end
end
local was, state = redis.call("HGET", ctl, "state"), state_of(ctl)
if was and was ~= state then
  redis.call("HSET", ctl, "state", state)
  moved[2], moved[3] = was, state
  if state ~= "idle" then
    redis.call("ZADD", due, now, "turn|" .. session) -- whoever was to wake it may have found nothing to do
  end
end
local is_listed = redis.call("ZSCORE", sessions, session)
if redis.call("EXISTS", row) == 0 and (is_listed or (lost_row and state ~= "idle")) then
  redis.call("HSET", row, "sessionId", session_id, "createdAt", now, "updatedAt", now, "sessionStartedAt", now,
    "lastInteractionAt", now)
  set_fields(row, fields)
end
local c = redis.call("HMGET", ctl, "run_key", "run", "lane", "attempt")
if c[1] and not fit({ [c[1]] = "hash" }) then
  move(c[1], KEYS[6], "hash")
  if state ~= "idle" then
    redis.call("HSET", c[1], "id", c[2], "session_key", session, "state", state, "queued_at", now, "lane", c[3],
      "kind", c[3] == "subagent" and "subagent" or "main", "agent_id", fields.agentId, "attempt", tonumber(c[4]) or 1)
  end
end
return moved
