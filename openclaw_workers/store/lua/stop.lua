--[[
  Stop a session's current run and cancel what waits behind it, or stop one named run.

  KEYS[1]  session ctl       hash
  KEYS[2]  inbox             zset
  KEYS[3]  receipts          hash
  KEYS[4]  events            stream
  KEYS[5]  due               zset
  KEYS[6]  current run       hash
  KEYS[7]  lane slots        zset
  KEYS[8]  lane line         zset

  ARGV[1]  session key
  ARGV[2]  the run the caller believes is current
  ARGV[3]  1 to cancel waiting messages too
  ARGV[4]  reason
  ARGV[5]  lane cap, 0 for none
  ARGV[6]  how long a granted slot is kept, milliseconds

  Returns  {"stopping", messages cancelled, owned 0|1} the owner, or the next one, will end the run
           {"stopped", messages cancelled, granted}    it had not begun and is over
           {"idle"} | {"other", current run}           nothing was changed

  Invariant
    A stop names one run and messages up to one sequence number; it can never hit a later run (rule 11).
]]
local ctl, inbox, receipts, events, due, run_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local slots, line = KEYS[7], KEYS[8]
local session, run, all, reason = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4]
local cap, grant_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local now = now_ms()

local c = redis.call("HMGET", ctl, "state", "run", "seq", "resumed")
if not c[1] or c[1] == "idle" then
  return { "idle" }
end
if c[2] ~= run then
  return { "other", c[2] }
end
local begun = c[1] == "running" or c[4] == "1"
local cancelled = {}
if all or not begun then
  cancelled = settle_messages(inbox, receipts, tonumber(c[3]), "cancelled", nil, now, reason, true)
end
if begun then
  redis.call("HSET", ctl, "abort", run, "abort_reason", reason)
  return { "stopping", #cancelled, c[1] == "running" and 1 or 0 }
end
if redis.call("ZCARD", inbox) > 0 then
  -- A waiting command keeps its turn; the run now belongs to it.
  return { "stopped", #cancelled, {} }
end
redis.call("HSET", ctl, "state", "idle")
redis.call("ZREM", due, "turn|" .. session)
redis.call("ZREM", line, run .. " " .. session)
redis.call("ZREM", slots, session)
redis.call("HSET", run_key, "covers", #cancelled > 0 and cjson.encode(cancelled) or "[]")
end_run(run_key, "killed", reason, now)
event(events, ctl, now, "run.ended", { run = run, state = "killed", reason = reason, covers = cancelled })
return { "stopped", #cancelled, grant(slots, line, due, cap, now, grant_ms) }
