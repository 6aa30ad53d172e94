--[[
  Shared by every script: this text is put in front of each one when it is loaded.
  Times are milliseconds by Redis TIME.
]]
local EVENTS_KEPT, RECEIPTS_KEPT, RUN_KEPT_S = 2000, 2000, 7 * 86400

local function now_ms()
  local t = redis.call("TIME")
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Rule 20: each event carries a sequence number, so that a viewer notices a gap.
-- Rule 19: only `accept` creates the stream; everyone else finds it gone and writes nothing.
local function event(events, ctl, now, kind, data, create)
  local seq = redis.call("HINCRBY", ctl, "eseq", 1)
  local body = cjson.encode(data)
  if create then
    return redis.call("XADD", events, "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data", body)
  end
  return redis.call(
    "XADD", events, "NOMKSTREAM", "MAXLEN", "~", EVENTS_KEPT, "*", "type", kind, "seq", seq, "at", now, "data", body)
end

-- A message as it stands in a zset. One that cannot be read is still a message: it is taken alone, and fails visibly.
local function read_message(raw)
  local ok, entry = pcall(cjson.decode, raw)
  if ok and type(entry) == "table" and entry.id then
    return entry
  end
  return { id = "unreadable-" .. redis.sha1hex(raw), seq = 0, kind = "unreadable", mode = "followup", accepted_at = 0,
    debounce_ms = 0 }
end

local function receipt_of(entry, state, run, now, reason)
  return cjson.encode({
    state = state, seq = entry.seq, run = run, reason = reason, accepted_at = entry.accepted_at, at = now,
  })
end

local function receipt(receipts, entry, state, run, now, reason)
  redis.call("HSET", receipts, entry.id, receipt_of(entry, state, run, now, reason))
end

-- Settle every message of a zset (`inbox` up to a sequence number, or `bound`) and empty it.
local function settle_messages(zset, receipts, upto, state, run, now, reason, spare_commands)
  local ids, by_person = {}, false
  for _, raw in ipairs(redis.call("ZRANGEBYSCORE", zset, "-inf", upto)) do
    local entry = read_message(raw)
    if not (spare_commands and entry.kind == "command") then
      redis.call("ZREM", zset, raw)
      receipt(receipts, entry, state, run, now, reason)
      ids[#ids + 1] = entry.id
      by_person = by_person or entry.kind ~= "internal"
    end
  end
  return ids, by_person
end

-- Add one step's tokens to what the run has used; returns the sums as usage fields.
local function add_usage(run_key, usage)
  local fields = { "input", "output", "cacheRead", "cacheWrite" }
  local spent = redis.call("HMGET", run_key, "usage_input", "usage_output", "usage_cacheRead", "usage_cacheWrite")
  local sums, changed = {}, {}
  for i, field in ipairs(fields) do
    sums[field] = (tonumber(spent[i]) or 0) + (usage[field] or 0)
    changed[#changed + 1] = "usage_" .. field
    changed[#changed + 1] = sums[field]
  end
  redis.call("HSET", run_key, unpack(changed))
  return sums
end

-- Put a wake-up into the lane's queue in the same moment it becomes due; without one the caller publishes.
local function push_wake(queue, wake)
  if wake == "" then
    return false
  end
  redis.call("LPUSH", queue, wake)
  return true
end

-- Rule 16: a freed slot goes to the head of the line for a short time; `due` looks again if it is not used.
local function grant(slots, line, due, cap, now, grant_ms)
  local granted = {}
  while cap > 0 and redis.call("ZCARD", slots) < cap do
    local head = redis.call("ZPOPMIN", line)
    if not head[1] then
      break
    end
    local run, session = string.match(head[1], "^(%S+) (.+)$")
    redis.call("ZADD", slots, now + grant_ms, session)
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
  return now - last > lease_ms / 2 or (now < grace_until and grace_until <= now + lease_ms)
end

-- Receipts are kept for the newest messages; those that are not final yet are kept in any case.
local function forget_old_receipts(receipts, ages)
  local surplus = redis.call("HLEN", receipts) - RECEIPTS_KEPT
  if surplus <= 0 then
    return
  end
  for _, old in ipairs(redis.call("ZRANGE", ages, 0, surplus + 8)) do
    local state = cjson.decode(redis.call("HGET", receipts, old) or '{"state":"gone"}').state
    if state ~= "accepted" and state ~= "bound" then
      redis.call("HDEL", receipts, old)
      redis.call("ZREM", ages, old)
    end
  end
end

local function merges(first, entry)
  return entry.kind == "user" and first.kind == "user" and entry.mode == "collect" and first.mode == "collect"
    and entry.authority == first.authority and entry.address == first.address and not entry.model and not first.model
end

-- Rule 10: the head of the inbox, and with it what may be collected: what the next turn answers.
local function next_messages(inbox, most)
  local entries, raws, reach = {}, {}, 0
  while true do
    local found = redis.call("ZRANGE", inbox, #raws, reach)
    for _, raw in ipairs(found) do
      local entry = read_message(raw)
      if entries[1] and not merges(entries[1], entry) then
        return entries, raws
      end
      entries[#entries + 1], raws[#raws + 1] = entry, raw
    end
    if #found == 0 or entries[1].mode ~= "collect" or #raws >= most then
      return entries, raws
    end
    reach = most - 1
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
  redis.call("HSET", ctl, "state", "queued", "run", run, "lane", lane, "attempt", 1, "step", 0, "progress", 0,
    "started", "", "resumed", 0, "how", "taken", "wakes", 1, "woken_at", now, "ready_at", ready_at, "steered", "[]",
    "ticket", "", "losses", 0, "stalls", 0)
  redis.call("ZADD", due, ready_at > now and ready_at or now + rewake_ms, "turn|" .. session)
end

-- Cut the transcript off under a new session id; the service lane writes the old one out as JSONL.
local function cut_transcript(row, log, archive, archives, due, archive_id, new_session_id, now, why)
  if redis.call("EXISTS", log) == 1 then
    local old = redis.call("HMGET", row, "sessionId", "agentId", "sessionKey", "lastThreadId", "sessionStartedAt")
    redis.call("RENAME", log, archive)
    redis.call("HSET", archives, archive_id, cjson.encode({
      session_id = old[1], agent_id = old[2], session_key = old[3], thread_id = old[4], started_at = tonumber(old[5]),
      cut_at = now, why = why,
    }))
    redis.call("ZADD", due, now, "archive|" .. archive_id)
  end
  if new_session_id ~= "" then
    redis.call("HSET", row, "sessionId", new_session_id, "sessionStartedAt", now, "updatedAt", now,
      "lastInteractionAt", now, "inputTokens", 0, "outputTokens", 0, "totalTokens", 0, "cacheRead", 0, "cacheWrite", 0, "contextTokens", 0,
      "compactionCount", 0, "turns", 0)
  end
end

-- The transcript entry that carries one or several messages to the model.
local function user_entry(entries, run, now, provenance, dropped)
  local content, ids = {}, {}
  if dropped and #dropped > 0 then
    local lines = { "[" .. #dropped .. " earlier message(s) were dropped because the queue was full]" }
    for _, line in ipairs(dropped) do
      lines[#lines + 1] = "- " .. line
    end
    content[#content + 1] = { type = "text", text = table.concat(lines, "\n") }
  end
  for index, entry in ipairs(entries) do
    local text = entry.text
    if #entries > 1 then
      local from = entry.sender ~= "" and " (from " .. entry.sender .. ")" or ""
      text = "Queued #" .. index .. from .. "\n" .. text
    end
    content[#content + 1] = { type = "text", text = text }
    ids[#ids + 1] = entry.id
  end
  return cjson.encode({
    role = "user", content = content, timestamp = now, runId = run, messageIds = ids, provenance = provenance,
  })
end

-- A run's list of owners is kept as JSON text; appending needs no decoding.
local function with_attempt(list, worker, now, how)
  local item = cjson.encode({ worker = worker, at = now, how = how })
  return list and (string.sub(list, 1, -2) .. "," .. item .. "]") or "[" .. item .. "]"
end

local function end_run(run_key, state, reason, now)
  redis.call("HSET", run_key, "state", state, "reason", reason, "ended_at", now)
  redis.call("EXPIRE", run_key, RUN_KEPT_S)
end
