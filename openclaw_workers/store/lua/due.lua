--[[
  Claim a bounded number of due items without scanning (rule 15).

  includes  clock, hashes

  keys
    due      zset  index of due items
    sweep    hash  when sweeps ran, and clock steps
    waiting  set   archives that wait for a writer at this place
    stepped  zset  what was due when the clock stepped back
    workers  zset  index of workers
  args
    lease_ms  number  length of a lease
    most      number  most items to claim
    claim_ms  number  how long a claim keeps other sweepers away
    soon_ms   number  the caller can wait this long for the next item, and come in that moment

  Returns  {milliseconds after which the caller is to come for the next item, or -1 if it need not; how many workers
            are alive; item, item …}

  Invariant
    After a freeze or a clock step nobody is judged for one lease (rule 7): the first sweep that notices opens a grace
    period. If the clock stepped back, all times that count from now are shifted once, a bounded number by each sweep.
    Calendar times stay, and so do items that were added since. One sweeper comes for an item that is due soon: if all
    came, most would find nothing.
]]
local now = now_ms()
local ALIVE_MS = 5000
local alive = redis.call("ZCOUNT", workers, now - ALIVE_MS, "+inf")
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

local seen = fields(sweep, "last", "grace_until", "awaited")
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
  return { is_shifting and 0 or grace_until - now, alive }
end

local items = redis.call("ZRANGEBYSCORE", due, "-inf", now, "LIMIT", 0, most)
for _, item in ipairs(items) do
  redis.call("ZADD", due, now + claim_ms, item)
end
for _, item in ipairs(redis.call("SPOP", waiting, most)) do
  redis.call("ZADD", due, now + claim_ms, item)
  items[#items + 1] = item
end

-- Items that are overdue are for everybody. One that is due soon is for the first that asks; if that one dies, the
-- others find the item when they look next.
local function time_to_come()
  local at = tonumber(redis.call("ZRANGE", due, 0, 0, "WITHSCORES")[2])
  if not at or (at > now and (at > now + soon_ms or tonumber(seen.awaited) == at)) then
    return -1
  end
  if at > now then
    redis.call("HSET", sweep, "awaited", at)
  end
  return math.max(0, at - now)
end

local answer = { is_shifting and 0 or time_to_come(), alive }
for _, item in ipairs(items) do
  answer[#answer + 1] = item
end
return answer
