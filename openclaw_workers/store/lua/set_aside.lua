--[[
  Move keys of a session out of its way that hold another type than they should.

  KEYS[1]  session row       hash
  KEYS[2]  transcript        list
  KEYS[3]  session ctl       hash
  KEYS[4]  the keys of the session from KEYS[4] on, then a place for each of them in the same order

  ARGV[1]  how long what was moved is kept, seconds
  ARGV[2]  session id if the row or the transcript is moved
  ARGV[3]  row fields of a new session, JSON object of strings
  ARGV[4]  the type that each of the keys should have, from ARGV[4] on

  Returns  {"moved", key, place, type it has, type it should have, key …}

  Invariant
    What fits stays where it is. What does not holds nothing that a script could read, and each would fail at it; it is
    kept for a person. A session whose transcript was moved begins a new life, since what others remember of the old one
    is no longer the beginning of this. One at work whose row was moved has a new one, as `take` must find.
]]
local row, log, ctl, kept_seconds, session_id = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local first_key, first_type = 4, 4
local count, moved, lost_row, now = (#KEYS - first_key + 1) / 2, { "moved" }, false, now_ms()
for index = 0, count - 1 do
  local key, place, wanted = KEYS[first_key + index], KEYS[first_key + count + index], ARGV[first_type + index]
  if not fit({ [key] = wanted }) then
    for _, told in ipairs({ key, place, redis.call("TYPE", key).ok, wanted }) do
      moved[#moved + 1] = told
    end
    redis.call("RENAME", key, place)
    redis.call("EXPIRE", place, kept_seconds)
    lost_row = lost_row or key == row
    if key == log and redis.call("TYPE", row).ok == "hash" then
      redis.call("HSET", row, "sessionId", session_id, "sessionStartedAt", now)
    end
  end
end
local state = redis.call("TYPE", ctl).ok == "hash" and redis.call("HGET", ctl, "state") or "idle"
if lost_row and state ~= "idle" then
  redis.call("HSET", row, "sessionId", session_id, "createdAt", now, "updatedAt", now, "sessionStartedAt", now,
    "lastInteractionAt", now)
  set_fields(row, cjson.decode(ARGV[3]))
end
return moved
