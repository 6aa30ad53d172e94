--[[
  Note how a call with one key ended: a failure keeps the whole fleet away from it for a while, a success ends that.

  includes  clock, hashes

  keys
    health  hash  health of the key: until_<reason>, count_<reason>, failed_at, used_at, call
  args
    call        text    id of the call
    reason      text    reason of the failure, or "" for a success
    first_ms    number  first pause, milliseconds; 0 if this kind of failure makes none
    longest_ms  number  longest pause, milliseconds
    asked_ms    number  pause the provider asked for, milliseconds; 0 if it named none
    jitter      number  jitter: thousandths of the pause to add
    took_ms     number  how long the call took, milliseconds

  Returns  {"ok"}

  Invariant
    A repeat of a call changes nothing (rule 13). Each reason has its own pause and its own count, so that a small
    failure neither lengthens nor hides a large one. A pause is not made longer by what fails within it, unless the
    provider asks for it: a burst is one failure. Who fails again a day after its pause begins with the first pause
    again. A success says nothing of failures that came after its call began. When the clock stepped back behind the
    last failure, the pauses are over: else they would last as much longer.
]]
local FORGIVEN_MS = 86400000
local now = now_ms()

-- What cannot be read is as if it were not there.
local function number(raw)
  return raw and string.match(raw, "^%d+$") and tonumber(raw) or 0
end

local until_field, count_field = "until_" .. reason, "count_" .. reason
local h = fields(health, "call", "failed_at", until_field, count_field)
if h.call == call then
  return { "ok" }
end
local stepped_back = number(h.failed_at) > now
if stepped_back or (reason == "" and now - took_ms >= number(h.failed_at)) then
  redis.call("DEL", health)
end
redis.call("HSET", health, "call", call, "used_at", now)
redis.call("EXPIRE", health, 7 * 86400)
if reason == "" or (first_ms == 0 and asked_ms == 0) then
  return { "ok" }
end
redis.call("HSET", health, "failed_at", now)
local ends, count = stepped_back and 0 or number(h[until_field]), number(h[count_field])
local is_paused = ends > now
if is_paused and asked_ms == 0 then
  return { "ok" }
end
count = is_paused and count or now - ends > FORGIVEN_MS and 1 or count + 1
local pause = asked_ms > 0 and asked_ms or math.min(first_ms * 2 ^ (count - 1), longest_ms)
ends = math.max(ends, now + math.floor(pause * (1 + jitter / 1000)))
redis.call("HSET", health, until_field, ends, count_field, count)
return { "ok" }
