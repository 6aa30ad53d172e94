--[[
  Note how a call with one key ended: a failure keeps the whole fleet away from it for a while, a success ends that.

  KEYS[1]  health of the key: until_<reason>, count_<reason>, failed_at, used_at, call   hash

  ARGV[1]  id of the call
  ARGV[2]  reason of the failure, or "" for a success
  ARGV[3]  first pause, milliseconds; 0 if this kind of failure makes none
  ARGV[4]  longest pause, milliseconds
  ARGV[5]  pause the provider asked for, milliseconds; 0 if it named none
  ARGV[6]  jitter: thousandths of the pause to add
  ARGV[7]  how long the call took, milliseconds

  Returns  {"ok"}

  Invariant
    A repeat of a call changes nothing (rule 13). Each reason has its own pause and its own count, so that a small
    failure neither lengthens nor hides a large one. A pause is not made longer by what fails within it, unless the
    provider asks for it: a burst is one failure. Who fails again a day after its pause begins with the first pause
    again. A success says nothing of failures that came after its call began. When the clock stepped back behind the
    last failure, the pauses are over: else they would last as much longer.
]]
local health = KEYS[1]
local call, reason, first_ms, longest_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local asked_ms, jitter, took_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local FORGIVEN_MS = 86400000
local now = now_ms()

-- What cannot be read is as if it were not there.
local function number(raw)
  return raw and string.match(raw, "^%d+$") and tonumber(raw) or 0
end

local h = redis.call("HMGET", health, "call", "failed_at", "until_" .. reason, "count_" .. reason)
if h[1] == call then
  return { "ok" }
end
local stepped_back = number(h[2]) > now
if stepped_back or (reason == "" and now - took_ms >= number(h[2])) then
  redis.call("DEL", health)
end
redis.call("HSET", health, "call", call, "used_at", now)
redis.call("EXPIRE", health, 7 * 86400)
if reason == "" or (first_ms == 0 and asked_ms == 0) then
  return { "ok" }
end
redis.call("HSET", health, "failed_at", now)
local ends, count = stepped_back and 0 or number(h[3]), number(h[4])
local is_paused = ends > now
if is_paused and asked_ms == 0 then
  return { "ok" }
end
count = is_paused and count or now - ends > FORGIVEN_MS and 1 or count + 1
local pause = asked_ms > 0 and asked_ms or math.min(first_ms * 2 ^ (count - 1), longest_ms)
ends = math.max(ends, now + math.floor(pause * (1 + jitter / 1000)))
redis.call("HSET", health, "until_" .. reason, ends, "count_" .. reason, count)
return { "ok" }
