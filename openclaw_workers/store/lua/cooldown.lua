--[[
  Note how a call with one key ended: a failure starts a cooldown for all workers, a success ends it.

  includes  clock, hashes, schema

  keys
    cooldowns  hash  of the key: until_<reason>, count_<reason>, failed_at, used_at, call
  args
    call        text    call id
    reason      text    reason of the failure; empty for a success
    first_ms    number  first cooldown; 0 if this kind of failure causes none
    longest_ms  number  longest cooldown
    asked_ms    number  cooldown that the provider asked for; 0 for none
    jitter      number  thousandths of the cooldown to add
    took_ms     number  how long the call took

  Returns  {"ok"}

  Invariant
    A repeat of a call changes nothing (rule 13). Each reason has its own cooldown and count, so that a small failure
    neither extends nor hides a large one. Failures within a cooldown do not extend it, unless the provider asks for
    that: a burst counts as one failure. A failure more than a day after the last cooldown starts with the first one
    again. A success does not clear failures that came after its call began. If the clock stepped back behind the last
    failure, cooldowns are over; otherwise they would last longer by the step.
]]
local FORGIVEN_MS = 86400000
local now = now_ms()

-- A value that cannot be read counts as missing.
local function number(raw)
  return raw and string.match(raw, "^%d+$") and tonumber(raw) or 0
end

local until_field, count_field = "until_" .. reason, "count_" .. reason
local h = fields(cooldowns, "call", "failed_at", until_field, count_field)
if h.call == call then
  return { "ok" }
end
local stepped_back = number(h.failed_at) > now
if stepped_back or (reason == "" and now - took_ms >= number(h.failed_at)) then
  redis.call("DEL", cooldowns)
end
redis.call("HSET", cooldowns, "call", call, "used_at", now, "v", SCHEMA)
redis.call("EXPIRE", cooldowns, 7 * 86400)
if reason == "" or (first_ms == 0 and asked_ms == 0) then
  return { "ok" }
end
redis.call("HSET", cooldowns, "failed_at", now)
local ends, count = stepped_back and 0 or number(h[until_field]), number(h[count_field])
local is_paused = ends > now
-- Calls that were under way when the cooldown began fail now. They are one failure, not many.
if is_paused and asked_ms == 0 then
  return { "ok" }
end
count = is_paused and count or now - ends > FORGIVEN_MS and 1 or count + 1
local pause = asked_ms > 0 and asked_ms or math.min(first_ms * 2 ^ (count - 1), longest_ms)
ends = math.max(ends, now + math.floor(pause * (1 + jitter / 1000)))
redis.call("HSET", cooldowns, until_field, ends, count_field, count)
return { "ok" }
