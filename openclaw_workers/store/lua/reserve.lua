--[[
  Set aside what a model call may cost, in every budget that it counts against, before it is made.

  KEYS[1]  for each budget two, from KEYS[1] on: what is spent (hash), and what is set aside (hash: run -> JSON)

  ARGV[1]  run id
  ARGV[2]  what to set aside, JSON: call, tokens, cost, calls, seconds, keep_ms (how long it is kept if nobody
           holds on to it)
  ARGV[3]  how many budgets follow; then for each, from ARGV[4] on, its limits as JSON: tokens, cost, calls, seconds,
           those that are set

  Returns  {"go", unreadable}
           {"over", unreadable, which budget, from 1, what, spent, limit}   nothing was set aside, and waiting will
                                                                            not help
           {"wait", unreadable, which budget}                               others have set the rest aside
           unreadable: how many stored values could not be read; they were taken away, and count for nothing

  Invariant
    What is spent passes a limit by one reservation at most: with nothing set aside by others a call may still begin,
    with something it may not. Seconds that a call takes beyond those are counted while it lasts (`hold`). A run has one reservation in each budget; asking again replaces it. One that nobody
    holds on to, because its owner died, ends by itself (`hold`).
]]
local run, wanted, count = ARGV[1], cjson.decode(ARGV[2]), tonumber(ARGV[3])
local first_key, first_limit = 1, 4
local FIELDS = { "tokens", "cost", "calls", "seconds" }
local unreadable = 0

local function set_aside(key)
  local sums, others, now = {}, false, now_ms()
  for _, field in ipairs(FIELDS) do
    sums[field] = 0
  end
  local all = redis.call("HGETALL", key)
  for i = 1, #all, 2 do
    local each = reserved(all[i + 1])
    if not each then
      unreadable = unreadable + 1
      redis.call("HDEL", key, all[i])
    elseif tonumber(each["until"]) <= now then
      redis.call("HDEL", key, all[i])
    elseif all[i] ~= run then
      if tonumber(each["until"]) > now + wanted.keep_ms then
        each["until"] = now + wanted.keep_ms -- the clock stepped back, and nobody has held on to it since
        redis.call("HSET", key, all[i], cjson.encode(each))
      end
      others = true
      for _, field in ipairs(FIELDS) do
        sums[field] = sums[field] + (tonumber(each[field]) or 0)
      end
      -- One that lasts longer than was thought has taken more by now.
      sums.seconds = sums.seconds + math.max(0, lasted_seconds(each, now) - (tonumber(each.seconds) or 0))
    end
  end
  return sums, others
end

local function spent_of(key, field)
  local raw = redis.call("HGET", key, field)
  if raw and not tonumber(raw) then
    unreadable = unreadable + 1
    redis.call("HDEL", key, field)
  end
  return tonumber(raw or 0) or 0
end

for i = 0, count - 1 do
  local spent_key, aside_key = KEYS[first_key + 2 * i], KEYS[first_key + 2 * i + 1]
  local limits = cjson.decode(ARGV[first_limit + i])
  local sums, others = set_aside(aside_key)
  for _, field in ipairs(FIELDS) do
    local limit, spent = limits[field], spent_of(spent_key, field)
    if limit and spent >= limit then
      return { "over", unreadable, i + 1, field, tostring(spent), tostring(limit) }
    end
    if limit and others and spent + sums[field] + wanted[field] > limit then
      return { "wait", unreadable, i + 1 }
    end
  end
end
wanted.since = now_ms()
wanted["until"] = wanted.since + wanted.keep_ms
for i = 0, count - 1 do
  local aside_key = KEYS[first_key + 2 * i + 1]
  redis.call("HSET", aside_key, run, cjson.encode(wanted))
  redis.call("EXPIRE", aside_key, 7 * 86400)
end
return { "go", unreadable }
