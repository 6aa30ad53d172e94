--[[
  Claim a bounded number of due items without scanning (rule 15).

  includes  clock, hashes

  keys
    due      zset  index of due items
    sweep    hash  when sweeps ran, and clock steps
    waiting  set   archives that wait for a writer at this place
    stepped  zset  what was due when the clock stepped back
  args
    lease_ms  number  length of a lease
    most      number  most items to claim
    claim_ms  number  how long a claim keeps other sweepers away

  Returns  {milliseconds until the next item is due or -1, item, item …}

  Invariant
    After a freeze or a clock step nobody is judged for one lease (rule 7): the first sweep that notices opens a grace
    period. If the clock stepped back, all times that count from now are shifted once, a bounded number by each sweep.
    Calendar times stay, and so do items that were added since.
]]
local now = now_ms()
local SHIFTED_AT_ONCE = 500
local FROM_NOW = { turn = true, archive = true, batch = true, stop_children = true, relay = true, lost_call = true,
  forget = true, cleanup = true, memory_note = true, firing = true, maintenance = true }

-- Returns whether some are left.
local function shift()
  local by = tonumber(redis.call("HGET", sweep, "stepped_by")) or 0
  local found = redis.call("ZPOPMIN", stepped, SHIFTED_AT_ONCE)
  for i = 1, #found, 2 do
    local item, at = found[i], tonumber(found[i + 1])
    redis.call("ZADD", due, "NX", FROM_NOW[string.match(item, "^[%a_]+")] and at - by or at, item)
  end
  return redis.call("EXISTS", stepped) == 1
end

local seen = fields(sweep, "last", "grace_until")
local last, grace_until = tonumber(seen.last), tonumber(seen.grace_until) or 0
if last and math.abs(now - last) > lease_ms / 2 then
  grace_until = now + lease_ms
end
local is_shifting = redis.call("EXISTS", stepped) == 1
local stepped_by = last and last - now or 0
if stepped_by <= lease_ms / 2 then
  last = now
elseif not is_shifting then -- a second step is handled after the first
  redis.call("HSET", sweep, "stepped_at", now, "stepped_by", stepped_by)
  last, is_shifting = now, redis.call("EXISTS", due) == 1
  if is_shifting then
    redis.call("RENAME", due, stepped)
  end
end
redis.call("HSET", sweep, "last", last, "grace_until", grace_until)
is_shifting = is_shifting and shift()
if now < grace_until and grace_until <= now + lease_ms then
  return { is_shifting and 0 or grace_until - now }
end

local items = redis.call("ZRANGEBYSCORE", due, "-inf", now, "LIMIT", 0, most)
for _, item in ipairs(items) do
  redis.call("ZADD", due, now + claim_ms, item)
end
for _, item in ipairs(redis.call("SPOP", waiting, most)) do
  redis.call("ZADD", due, now + claim_ms, item)
  items[#items + 1] = item
end
local next_item = redis.call("ZRANGE", due, 0, 0, "WITHSCORES")
local wait_ms = next_item[2] and math.max(0, tonumber(next_item[2]) - now) or -1
local answer = { is_shifting and 0 or wait_ms }
for _, item in ipairs(items) do
  answer[#answer + 1] = item
end
return answer
