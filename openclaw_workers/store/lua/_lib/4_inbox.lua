--[[
  Wake-ups, lanes, and what the next turn answers.
]]
-- Put a wake-up into the lane's queue in the same moment it becomes due; without one the caller publishes.
local function push_wake(queue, wake)
  if wake == "" then
    return false
  end
  redis.call("LPUSH", queue, wake)
  return true
end

-- Rule 16: a freed slot goes to the head of the line for a short time; `due` looks again if it is not used. Without a
-- cap nobody needs a slot: whoever still stands in line from before is woken, a few at a time, and wakes more at its end.
local WOKEN_UNCAPPED = 20
local function grant(slots, line, due, cap, now, grant_ms)
  local granted = {}
  while cap > 0 and redis.call("ZCARD", slots) < cap or cap == 0 and #granted < 2 * WOKEN_UNCAPPED do
    local head = redis.call("ZPOPMIN", line)
    if not head[1] then
      break
    end
    local run, session = string.match(head[1], "^(%S+) (.+)$")
    if cap > 0 then
      redis.call("ZADD", slots, now + grant_ms, session)
    end
    redis.call("ZADD", due, now + grant_ms, "turn|" .. session)
    granted[#granted + 1] = run
    granted[#granted + 1] = session
  end
  return granted
end

-- Rule 7: after a freeze or a clock step every lease looks expired, so nobody may be judged by it yet.
local function in_grace(sweep, now, lease_ms)
  local seen = redis.call("HMGET", sweep, "last", "grace_until")
  local last, grace_until = tonumber(seen[1]) or now, tonumber(seen[2]) or 0
  return math.abs(now - last) > lease_ms / 2 or (now < grace_until and grace_until <= now + lease_ms)
end

-- When a lease ends. One that ends later than a lease from now was written before the clock stepped back: it ends as much
-- earlier. Where that step is not known, it lasts one lease more.
local function lease_end(sweep, ends, now, lease_ms)
  if ends <= now + lease_ms then
    return ends
  end
  local step = redis.call("HMGET", sweep, "stepped_at", "stepped_by")
  local is_recent = step[1] and math.abs(now - step[1]) < 4 * lease_ms
  return math.min(is_recent and ends - step[2] or ends, now + lease_ms)
end

-- When a run may start that waits for quiet since `woken_at`. If that lies ahead, the clock stepped back: it has waited.
local function starts_at(ready_at, woken_at, now)
  return (tonumber(woken_at) or 0) <= now and tonumber(ready_at) or 0
end

-- Receipts are kept for the newest messages; those that are not final yet are kept in any case. One that cannot be read
-- goes like any other: nobody could learn more from it.
local function forget_old_receipts(receipts, ages)
  local surplus = redis.call("HLEN", receipts) - RECEIPTS_KEPT
  if surplus <= 0 then
    return
  end
  for _, old in ipairs(redis.call("ZRANGE", ages, 0, surplus + 8)) do
    local ok, known = pcall(cjson.decode, redis.call("HGET", receipts, old) or "{}")
    local state = ok and type(known) == "table" and known.state
    if state ~= "accepted" and state ~= "bound" then
      redis.call("HDEL", receipts, old)
      redis.call("ZREM", ages, old)
    end
  end
end

-- What a message may say of its turn, which holds for that message alone.
local TERMS = { "model", "extra_system_prompt", "thinking", "context_tokens", "timeout_seconds" }

-- Whether a turn that keeps the terms of one message keeps those of another.
local function keeps_terms(first, entry)
  for _, term in ipairs(TERMS) do
    if entry[term] and entry[term] ~= first[term] then
      return false
    end
  end
  return true
end

local function is_plain(entry)
  return entry.kind == "user" and entry.mode == "collect" and keeps_terms({}, entry)
end

local function merges(first, entry)
  return is_plain(first) and is_plain(entry) and entry.authority == first.authority and entry.address == first.address
end

-- Rule 10: the head of the inbox, and with it what may be collected: what the next turn answers. Not more bytes than one
-- message may have: they become one entry, and Redis serves nobody else while it is written or read.
local COLLECTED_BYTES, READ_AT_ONCE = 1000000, 5
local function next_messages(inbox, most)
  local entries, raws, reach, size = {}, {}, 0, 0
  while true do
    local found = redis.call("ZRANGE", inbox, #raws, reach)
    for _, raw in ipairs(found) do
      local entry = read_message(raw)
      size = size + #raw
      if entries[1] and (size > COLLECTED_BYTES or not merges(entries[1], entry)) then
        return entries, raws
      end
      entries[#entries + 1], raws[#raws + 1] = entry, raw
    end
    if #found == 0 or entries[1].mode ~= "collect" or #raws >= most then
      return entries, raws
    end
    reach = math.min(most, #raws + READ_AT_ONCE) - 1
  end
end

-- Collected messages wait for quiet, but not for ever: at most five times the debounce from the first of them.
local function quiet_at(head, last_at, debounce_ms)
  return math.min(last_at + debounce_ms, head.accepted_at + 5 * debounce_ms)
end

-- Open the next run of a session that has messages waiting; returns its state word and delay.
local function open_run(ctl, run_key, runs, due, session, run, lane, agent, now, ready_at, rewake_ms)
  redis.call("HSET", run_key, "id", run, "session_key", session, "state", "queued", "queued_at", now,
    "lane", lane, "kind", lane == "subagent" and "subagent" or "main", "agent_id", agent, "attempt", 1)
  redis.call("ZADD", runs, now, run)
  redis.call("HSET", ctl, "run_key", run_key, "state", "queued", "run", run, "lane", lane, "attempt", 1, "step", 0, "progress", 0,
    "started", "", "resumed", 0, "how", "taken", "wakes", 1, "woken_at", now, "ready_at", ready_at, "steered", "[]",
    "ticket", "", "losses", 0, "stalls", 0)
  redis.call("ZADD", due, ready_at > now and ready_at or now + rewake_ms, "turn|" .. session)
end
