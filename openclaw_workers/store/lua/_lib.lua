--[[
  Shared by every script: this text is put in front of each one when it is loaded.
  Times are milliseconds by Redis TIME.
]]
local EVENTS_KEPT, RECEIPTS_KEPT, RUN_KEPT_S = 2000, 2000, 7 * 86400
local FORGET_MS = 1000 -- how long after the end of its record a blocked batch is forgotten
local CHORD_MS = 2000 -- how long a settled batch waits for its chord before the sweep announces it

local function now_ms()
  local t = redis.call("TIME")
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Fields of an object, in one command.
local function set_fields(key, fields)
  local flat = {}
  for field, value in pairs(fields) do
    flat[#flat + 1], flat[#flat + 2] = field, value
  end
  if #flat > 0 then
    redis.call("HSET", key, unpack(flat))
  end
end

local function now_us()
  local t = redis.call("TIME")
  return t[1] * 1000000 + t[2]
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

-- Tell another session's viewers; one that was deleted meanwhile must not come back by it (rule 19).
local function tell(events, ctl, now, kind, data)
  if redis.call("EXISTS", ctl) == 1 then
    event(events, ctl, now, kind, data)
  end
end

-- What a child was spawned with for those who watch it; each event of it that its parent's viewers see carries it.
local function metadata_of(raw)
  local ok, given = pcall(cjson.decode, raw or "{}")
  return ok and type(given) == "table" and given or {}
end

-- What a run shows its viewers; where its parent asked for it (`deliver`), those who watch the parent see it too.
local SEEN_ABOVE = { ["text.delta"] = "subagent.delta", ["tool.started"] = "subagent.tool",
  ["tool.output"] = "subagent.tool", ["tool.ended"] = "subagent.tool" }
local function show(events, ctl, run_key, now, shown)
  for _, item in ipairs(shown) do
    event(events, ctl, now, item.type, item.data)
  end
  if #shown == 0 or redis.call("HGET", run_key, "deliver") ~= "1" then
    return
  end
  local r = redis.call("HMGET", run_key, "k_events", "k_ctl", "session_key", "label", "metadata")
  local metadata = metadata_of(r[5])
  for _, item in ipairs(shown) do
    if SEEN_ABOVE[item.type] then
      item.data.session, item.data.label, item.data.metadata = r[3], r[4], metadata
      item.data.phase = string.match(item.type, "^tool%.(.+)$")
      tell(r[1], r[2], now, SEEN_ABOVE[item.type], item.data)
    end
  end
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

local function is_announce(entry)
  return entry.kind == "internal" and entry.metadata and entry.metadata.provenance == "subagent"
end

-- Settle every message of a zset (`inbox` up to a sequence number, or `bound`) and empty it. Commands can be spared, and
-- results of children (I4).
local function settle_messages(zset, receipts, upto, state, run, now, reason, spare_commands, spare_announces)
  local ids, by_person, exchanges = {}, false, {}
  for _, raw in ipairs(redis.call("ZRANGEBYSCORE", zset, "-inf", upto)) do
    local entry = read_message(raw)
    if not (spare_commands and entry.kind == "command") and not (spare_announces and is_announce(entry)) then
      redis.call("ZREM", zset, raw)
      receipt(receipts, entry, state, run, now, reason)
      ids[#ids + 1] = entry.id
      by_person = by_person or entry.kind ~= "internal"
      if entry.metadata and entry.metadata.exchange then
        exchanges[#exchanges + 1] = entry
      end
    end
  end
  return ids, by_person, exchanges
end

-- Sessions that wait for answers to these messages: they have come, or will not any more. Returns whom it makes due.
local function heard_by(waiters, ids, due, now)
  local heard = {}
  for _, id in ipairs(ids) do
    local waiting = redis.call("HGET", waiters, id)
    if waiting then
      redis.call("HDEL", waiters, id)
      redis.call("ZADD", due, now, "turn|" .. waiting)
      heard[#heard + 1] = waiting
    end
  end
  return heard
end

-- The part of a run's tokens that its session has not been charged with: a child's run commits several times.
local function unbooked(run_key, spent)
  local before, new = cjson.decode(redis.call("HGET", run_key, "booked") or "{}"), {}
  for field, sum in pairs(spent) do
    new[field] = sum - (before[field] or 0)
  end
  redis.call("HSET", run_key, "booked", cjson.encode(spent))
  return new
end

-- What the calls of a run took, as usage fields: the sum of those that are booked.
local USAGE = { input = "input", output = "output", cacheRead = "cache_read", cacheWrite = "cache_write" } -- in an entry
local function usage_of(run_key)
  local r = redis.call("HMGET", run_key, "usage_input", "usage_output", "usage_cacheRead", "usage_cacheWrite")
  return { input = tonumber(r[1]) or 0, output = tonumber(r[2]) or 0, cacheRead = tonumber(r[3]) or 0,
    cacheWrite = tonumber(r[4]) or 0 }
end

local function add_usage(run_key, usage)
  local sums, changed = usage_of(run_key), {}
  for field, sum in pairs(sums) do
    changed["usage_" .. field] = sum + (usage[field] or 0)
  end
  set_fields(run_key, changed)
end

-- Models that were asked in vain, or passed over: each joins the run record once, by its id, whoever tells of it.
local function add_attempts(run_key, attempts)
  if #attempts == 0 or redis.call("EXISTS", run_key) == 0 then
    return
  end
  local list = redis.call("HGET", run_key, "model_attempts") or "[]"
  for _, attempt in ipairs(attempts) do
    local id, item = attempt[1], attempt[2]
    if not string.find(list, '"' .. id .. '"', 1, true) then
      list = string.sub(list, 1, -2) .. (list == "[]" and "" or ",") .. item .. "]"
    end
  end
  redis.call("HSET", run_key, "model_attempts", list)
end

-- What a run has set aside, as it is stored; nil if that cannot be read.
local function reserved(raw)
  local ok, aside = pcall(cjson.decode, raw)
  return ok and type(aside) == "table" and tonumber(aside["until"]) and aside or nil
end

-- How long the call has lasted that this is set aside for.
local function lasted_seconds(aside, now)
  return math.max(0, now - (tonumber(aside.since) or now)) / 1000
end

-- A sum that cannot be read begins anew: the turn that would add to it must not fail for that.
local function add_to(key, field, amount)
  local sum = redis.pcall("HINCRBYFLOAT", key, field, amount)
  if type(sum) == "table" and sum.err then
    redis.call("HSET", key, field, amount)
  end
end

-- Enter a call, and return what it adds to what is known of it, as amounts and as usage: nothing the second time, and
-- after its owner was taken for dead over it what the estimate was short of, or over.
local function enter(ledger, before, id, entry, amounts, usage)
  if redis.call("HEXISTS", before, id) == 1 then
    ledger = before -- somebody told of it before midnight
  end
  if redis.call("HSETNX", ledger, id, entry) == 1 then
    return amounts, usage
  end
  local ok, known = pcall(cjson.decode, redis.call("HGET", ledger, id))
  if not ok or type(known) ~= "table" or known.outcome ~= "lost" or cjson.decode(entry).outcome == "lost" then
    return nil
  end
  redis.call("HSET", ledger, id, entry)
  local tokens, more, guess = 0, {}, type(known.usage) == "table" and known.usage or {}
  for field, stored in pairs(USAGE) do
    local count = tonumber(guess[stored]) or 0
    tokens, more[field] = tokens + count, usage[field] - count
  end
  return { tokens = amounts.tokens - tokens, cost = amounts.cost - (tonumber(known.cost) or 0), calls = 0,
    seconds = amounts.seconds }, more
end

-- An owner that died while it may have been asking a model is named in its run's record until what it asked is booked,
-- whoever does that: so the call is known by the same id, however many look after the run meanwhile. One that rested
-- was asking nobody, and neither was one with a tool at work.
local function bury(run_key, fence, started)
  local r = redis.call("HMGET", run_key, "id", "resting", "dead")
  if not r[1] or r[2] == fence or (started or "") ~= "" then
    return
  end
  local dead = r[3] or "[]"
  redis.call("HSET", run_key, "dead", string.sub(dead, 1, -2) .. (dead == "[]" and "" or ",") .. fence .. "]")
end

local function booked_for(run_key, id)
  local fence, dead, others = string.match(id, "(%d+)%p%d+$"), redis.call("HGET", run_key, "dead"), {}
  for each in string.gmatch(dead or "", "%d+") do
    if each ~= fence then
      others[#others + 1] = each
    end
  end
  if dead then
    redis.call("HSET", run_key, "dead", "[" .. table.concat(others, ",") .. "]")
  end
end

-- Rule 14: a call was billed whoever owns the run by now, so it is booked before the lease is looked at; once, by its id.
-- `keys` holds, from `first` on, what is spent and what is set aside in each budget that it counts against. What an owner
-- books while it `owns` the run tells its heir how many of its calls are known, and so the id of the one that is not.
local function book(ledger, before, books, run, run_key, owns, keys, first)
  local given = cjson.decode(books)
  add_attempts(run_key, given.attempts)
  for _, call in ipairs(given.calls) do
    local id, entry = call[1], call[2]
    local added, usage = enter(ledger, before, id, entry, call[3], call[4])
    if string.find(entry, '"outcome":"lost"', 1, true) then
      booked_for(run_key, id)
    end
    if added then
      redis.call("EXPIRE", ledger, 90 * 86400)
      local is_known = redis.call("EXISTS", run_key) == 1
      if owns and is_known then
        redis.call("HSET", run_key, "last_call", id)
      end
      if added.cost ~= 0 and is_known then
        add_to(run_key, "cost", added.cost)
      end
      if is_known then
        add_usage(run_key, usage)
      end
      for i = first, #keys, 2 do
        for field, amount in pairs(added) do
          add_to(keys[i], field, amount)
        end
        redis.call("EXPIRE", keys[i], 90 * 86400)
      end
    end
    for i = first + 1, #keys, 2 do
      local aside = reserved(redis.call("HGET", keys[i], run) or "")
      if aside and aside.call == id then
        redis.call("HDEL", keys[i], run)
      end
    end
  end
end

-- Time that the tools of a turn took counts against the budgets too.
local function charge_work(seconds, keys, first)
  for i = first, #keys, 2 do
    if seconds > 0 then
      add_to(keys[i], "seconds", seconds)
      redis.call("EXPIRE", keys[i], 90 * 86400)
    end
  end
end

-- The run makes no call now, so nothing is set aside for one; a call that was not made in the end is never booked.
local function unreserve(run, keys, first)
  for i = first + 1, #keys, 2 do
    redis.call("HDEL", keys[i], run)
  end
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
  redis.call("HSET", ctl, "run_key", run_key, "state", "queued", "run", run, "lane", lane, "attempt", 1, "step", 0, "progress", 0,
    "started", "", "resumed", 0, "how", "taken", "wakes", 1, "woken_at", now, "ready_at", ready_at, "steered", "[]",
    "ticket", "", "losses", 0, "stalls", 0)
  redis.call("ZADD", due, ready_at > now and ready_at or now + rewake_ms, "turn|" .. session)
end

-- The order of sessions follows their `updatedAt`; one that was deleted must not come back by it (rule 19).
local function touch(sessions, session, now)
  redis.call("ZADD", sessions, "XX", now, session)
end

-- Cut the transcript off under a new session id; the service lane writes the old one out as JSONL, and removes the files
-- of a session that is deleted, also if it has said nothing.
local function cut_transcript(row, log, archive, archives, due, archive_id, new_session_id, now, why, has_files)
  local has_log = redis.call("EXISTS", log) == 1
  if has_log or has_files then
    local old = redis.call("HMGET", row, "sessionId", "agentId", "sessionKey", "lastThreadId", "sessionStartedAt",
      "spawnedWorkspaceDir")
    if has_log then
      redis.call("RENAME", log, archive)
    end
    redis.call("HSET", archives, archive_id, cjson.encode({
      session_id = old[1], agent_id = old[2], session_key = old[3], thread_id = old[4], started_at = tonumber(old[5]),
      cut_at = now, why = why, workspace = old[6] or nil,
    }))
    redis.call("ZADD", due, now, "archive|" .. archive_id)
  end
  if new_session_id ~= "" then
    redis.call("HSET", row, "sessionId", new_session_id, "sessionStartedAt", now, "updatedAt", now,
      "lastInteractionAt", now, "inputTokens", 0, "outputTokens", 0, "totalTokens", 0, "cacheRead", 0, "cacheWrite", 0, "contextTokens", 0,
      "compactionCount", 0, "turns", 0)
    redis.call("HDEL", row, "authProfileOverride") -- a new conversation has no cache that a key would keep
  end
end

-- The transcript entry that carries one or several messages to the model.
local function user_entry(entries, run, now, provenance, dropped)
  local content, ids, attached = {}, {}, {}
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
    for _, file in ipairs(entry.attachments or {}) do
      attached[#attached + 1] = file
    end
  end
  return cjson.encode({
    role = "user", content = content, timestamp = now, runId = run, messageIds = ids, provenance = provenance,
    attachments = #attached > 0 and attached or nil,
  })
end

-- A run's list of owners is kept as JSON text; appending needs no decoding.
local function with_attempt(list, worker, now, how)
  local item = cjson.encode({ worker = worker, at = now, how = how })
  return list and (string.sub(list, 1, -2) .. "," .. item .. "]") or "[" .. item .. "]"
end

-- Messages that a run has settled join those that its record names; a child's run settles some in each of its turns.
local function add_covers(run_key, ids)
  local all, known = cjson.decode(redis.call("HGET", run_key, "covers") or "[]"), {}
  for _, id in ipairs(all) do
    known[id] = true
  end
  for _, id in ipairs(ids) do
    if not known[id] then
      all[#all + 1] = id
    end
  end
  redis.call("HSET", run_key, "covers", #all > 0 and cjson.encode(all) or "[]")
end

-- A child's record goes with its batch: until that is announced, or given up, its siblings may be at work for long.
local function end_run(run_key, state, reason, now)
  redis.call("HSET", run_key, "state", state, "reason", reason, "ended_at", now)
  local batch = redis.call("HGET", run_key, "k_batch")
  if not batch or redis.call("EXISTS", batch) == 0 then
    redis.call("EXPIRE", run_key, RUN_KEPT_S)
  end
end

-- Keys that a record names; none where they cannot be read.
local function keys_in(record, field)
  local ok, keys = pcall(cjson.decode, redis.call("HGET", record, field) or "[]")
  return ok and type(keys) == "table" and keys or {}
end

-- A batch is kept for so many seconds from now on, or without an end while it is to be announced; and with it the records
-- of its runs, and what they carry up.
local function keep_batch(batch, seconds)
  local function keep(key)
    if seconds then
      redis.call("EXPIRE", key, seconds)
    else
      redis.call("PERSIST", key)
    end
  end
  keep(batch)
  for _, run_key in ipairs(keys_in(batch, "k_members")) do
    keep(run_key)
    local siblings = redis.call("HGET", run_key, "k_children") or ""
    if redis.call("TTL", siblings) > 0 then
      redis.call("EXPIRE", siblings, RUN_KEPT_S) -- of a session that is gone: it leads to what is carried up
    end
    for _, carried in ipairs(keys_in(run_key, "k_carried")) do
      keep_batch(carried, seconds)
    end
  end
end

-- The announce of a run will tell what this batch found: it is kept as long as the run's own.
local function carry(run_key, k_batch)
  if redis.call("EXISTS", run_key) == 1 then
    local carried = keys_in(run_key, "k_carried")
    carried[#carried + 1] = k_batch
    redis.call("HSET", run_key, "k_carried", cjson.encode(carried))
    keep_batch(k_batch)
  end
end

local function is_final(state)
  return state == "ok" or state == "error" or state == "timeout" or state == "killed"
end

--[[
  The tree. A child's run record names the keys of its parent's side, as `spawn` was given them: whoever ends the run,
  wherever, finds them there. A run without `batch` is nobody's child.
]]
local PARENT_SIDE = { "batch", "k_batch", "k_open", "k_live", "k_tree", "k_events", "k_ctl" }

-- Rule 12: what the session spawned is to be stopped, or what one `run` of it has, up to the child spawned last; the sweep
-- sees to it if need be. What is to be stopped anyway is not ordered again because its parent has ended.
local function reap(reaps, due, live, session, now, reason, run)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2])
  if not last or run == "" then
    return
  end
  local order = run and run .. " " .. session or session
  for _, known in ipairs(reason == "parent-ended" and { session, order } or {}) do
    local raw = redis.call("HGET", reaps, known)
    if raw and cjson.decode(raw).upto >= last then
      return
    end
  end
  redis.call("HSET", reaps, order, cjson.encode({ upto = last, reason = reason, run = run }))
  redis.call("ZADD", due, now, "reap|" .. order)
end

-- Rule 4: count a settled child in its batch; the last one makes the batch due.
local function count_child(run_key, now, due)
  local r = redis.call("HMGET", run_key, "id", unpack(PARENT_SIDE))
  local run, batch, k_batch, open = r[1], r[2], r[3], r[4]
  if not batch or redis.call("SREM", open, run) == 0 then
    return
  end
  redis.call("HSET", run_key, "settled_at", now)
  redis.call("ZREM", r[5], run)
  redis.call("ZREM", r[6], run)
  if redis.call("SCARD", open) == 0 and redis.call("EXISTS", k_batch) == 1 then
    redis.call("HSET", k_batch, "state", "settled", "settled_at", now)
    redis.call("ZADD", due, now + CHORD_MS, "batch|" .. batch)
  end
end

-- A batch that came for a child, which will not hear it any more: its own announce carries it up. One that another run
-- had asked for is entered in its record, because nothing else would lead to it.
local function fold_batch(run_key, run, k_batch)
  redis.call("HSET", k_batch, "state", "folded", "folded_into", run)
  carry(run_key, k_batch)
  local b = redis.call("HMGET", k_batch, "id", "parent_run")
  if b[1] and b[2] ~= run then
    local foreign = cjson.decode(redis.call("HGET", run_key, "folded") or "[]")
    foreign[#foreign + 1] = b[1]
    redis.call("HSET", run_key, "folded", cjson.encode(foreign))
  end
end

local function fold_announces(run_key, run, inbox, receipts, now)
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if is_announce(entry) then
      redis.call("ZREM", inbox, raw)
      receipt(receipts, entry, "cancelled", nil, now, "folded")
      fold_batch(run_key, run, entry.metadata.k_batch)
    end
  end
end

-- A follow-up whose parent waits in a call for one of the messages it answered is read there, and not announced too.
local function leave_to_waiter(run_key, run, covers)
  local r = redis.call("HMGET", run_key, "batch", "k_batch", "k_ctl")
  if r[1] ~= "batch-" .. run or redis.call("EXISTS", r[2]) == 0 then
    return
  end
  local p = redis.call("HMGET", r[3], "waits_for", "run", "abort")
  for _, id in ipairs(p[2] ~= p[3] and covers or {}) do
    if id == p[1] then
      redis.call("HSET", r[2], "mode_before", redis.call("HGET", r[2], "mode"), "mode", "none", "k_run", run_key)
      redis.call("HSET", run_key, "announce", "none")
      redis.call("HSET", r[3], "unread", r[2])
    end
  end
end

-- A run ends that waited in a call. What it has not read of the answer is announced after all.
local function end_wait(ctl, run_key, due, now)
  local k_batch = redis.call("HGET", ctl, "unread")
  redis.call("HDEL", ctl, "waits_for", "waits_on", "unread")
  local b = k_batch and redis.call("HMGET", k_batch, "id", "state", "mode_before", "k_run") or {}
  if not b[3] then
    return
  end
  redis.call("HSET", k_batch, "mode", b[3])
  if redis.call("EXISTS", b[4]) == 1 then
    redis.call("HSET", b[4], "announce", b[3])
  end
  local r = redis.call("HMGET", run_key, "id", "batch")
  if b[2] == "none" and r[2] then
    fold_batch(run_key, r[1], k_batch)
  elseif b[2] == "none" then
    redis.call("HSET", k_batch, "state", "settled")
    keep_batch(k_batch)
    redis.call("ZADD", due, now, "batch|" .. b[1])
  end
end

-- How many of the batches that a run spawned are not announced yet. By run and not by session: a later run of the same
-- session must not wait for what an earlier one left behind.
local function open_batches(run_key)
  return tonumber(redis.call("HGET", run_key, "open_batches")) or 0
end

-- A child's run has ended. It counts as settled once what it spawned has settled too; until then that is stopped.
local function settle_child(run_key, session, inbox, receipts, now, due, own_live, reaps)
  local r = redis.call("HMGET", run_key, "id", "state", "error", "k_events", "k_ctl", "batch", "label", "metadata")
  if not r[6] then
    return 0
  end
  if r[2] ~= "ok" then
    fold_announces(run_key, r[1], inbox, receipts, now)
    tell(r[4], r[5], now, "subagent.failed", {
      run = r[1], session = session, label = r[7], state = r[2], error = r[3], metadata = metadata_of(r[8]),
    })
  end
  if open_batches(run_key) > 0 then
    reap(reaps, due, own_live, session, now, "parent-ended", r[1])
    return 0
  end
  count_child(run_key, now, due)
  return 1
end

-- Something came for a child that waits for its children: the same run goes on.
local function unpark(ctl, due, session, now, rewake_ms)
  redis.call("HSET", ctl, "state", "queued", "ready_at", 0, "wakes", 1, "woken_at", now)
  redis.call("HSET", redis.call("HGET", ctl, "run_key"), "state", "queued")
  redis.call("ZADD", due, now + rewake_ms, "turn|" .. session)
end

-- A record that has expired must not come back by it (rule 19).
local function count_batch(run_key, change)
  if redis.call("EXISTS", run_key) == 1 then
    redis.call("HINCRBY", run_key, "open_batches", change)
  end
end

-- The next child's place among its siblings: by the clock, and after all that are at work, so that in a session that was
-- deleted and begun anew it lies beyond what an order to stop the old children reaches.
local function spawn_place(ctl, live, now)
  local last = tonumber(redis.call("ZRANGE", live, -1, -1, "WITHSCORES")[2]) or 0
  local place = math.max((tonumber(redis.call("HGET", ctl, "spawn_seq")) or 0) + 1, last + 1, now)
  redis.call("HSET", ctl, "spawn_seq", place)
  return place
end

-- To whom a child's next run would be announced: what the batch of its last one says of them, or nil for nobody. A parent
-- that is gone must not come back by it (rule 19).
local function reports_to(old_key)
  local r = redis.call("HMGET", old_key, "k_batch", "spawn_mode", "k_ctl")
  local about = r[1] and redis.call("HMGET", r[1], "parent_session", "parent_session_id", "parent_run", "k_batches", "root", "mode",
    "k_parent_run", "above", "above_id", "mode_before")
  local nobody = not about or not about[1] or r[2] == "session" or redis.call("EXISTS", r[3]) == 0
  return not nobody and about or nil
end

-- Which limit of the tree another run after this one would break, as `spawn` was given them; nil if none.
local function lacks_room(old_key)
  if not reports_to(old_key) then
    return nil -- it would be nobody's child
  end
  local l = redis.call("HMGET", old_key, "k_live", "most_children", "k_tree", "most_tree")
  if l[2] and redis.call("ZCARD", l[1]) >= tonumber(l[2]) then
    return "children"
  end
  return l[4] and redis.call("ZCARD", l[3]) >= tonumber(l[4]) and "tree" or nil
end

-- A message to a child whose run is over starts another run, announced to the same parent in a batch of its own. Whoever
-- may be refused is so before (`lacks_room`); messages of people and results of its own children always have room.
local function follow_up(old_key, run_key, run, k_batch, k_open, now)
  local about = reports_to(old_key)
  if not about then
    return
  end
  local copied = { "k_live", "k_tree", "k_events", "k_ctl", "k_children", "requester_session_key",
    "requester_session_id", "controller_session_key", "root_session_key", "parent_run_id", "depth", "role", "cleanup", "spawn_mode", "deliver",
    "label", "task", "metadata", "wake_on_descendant_settle", "timeout_ms", "most_children", "most_tree" }
  local old, batch = redis.call("HMGET", old_key, unpack(copied)), "batch-" .. run
  for i, field in ipairs(copied) do
    if old[i] then
      redis.call("HSET", run_key, field, old[i])
    end
  end
  local mode = about[10] or about[6] -- that its parent waited for the last one holds for that one alone
  redis.call("HSET", run_key, "batch", batch, "k_batch", k_batch, "k_open", k_open, "batch_index", 0, "announce", mode)
  redis.call("HSET", k_batch, "id", batch, "state", "running", "mode", mode, "created_at", now, "parent_session", about[1],
    "parent_session_id", about[2], "parent_run", about[3], "k_batches", about[4], "root", about[5], "k_parent_run", about[7],
    "above", about[8] or "", "above_id", about[9] or "",
    "members", cjson.encode({ run }), "k_members", cjson.encode({ run_key }), "cleanup", "[]", "tries", 0)
  redis.call("SADD", k_open, run)
  redis.call("ZADD", about[4], now, batch)
  count_batch(about[7], 1)
  local seq = spawn_place(old[4], old[1], now)
  redis.call("ZADD", old[1], seq, run)
  if redis.call("EXISTS", old[5] or "") == 1 then
    redis.call("ZADD", old[5], seq, run)
  end
  redis.call("ZADD", old[2], now, run)
  local told = redis.call("HMGET", run_key, "session_key", "label", "parent_run_id", "depth", "metadata")
  tell(old[3], old[4], now, "subagent.spawned", {
    run = run, session = told[1], label = told[2], batch = batch, parentRun = told[3], depth = tonumber(told[4]),
    metadata = metadata_of(told[5]), followUp = true,
  })
end

-- A session that was bound to a thread is so no more: what is said there goes where it went before.
local function unbind_thread(row, threads)
  local address = redis.call("HGET", row, "threadBinding")
  if address then
    redis.call("HDEL", threads, address)
    redis.call("HDEL", row, "threadBinding")
  end
end

-- Rule 18: results that wait for a life that is over are not said in the next one. They join the transcript that asked
-- for them, which is cut off next.
local function drop_announces(inbox, log, receipts, events, ctl, now)
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if is_announce(entry) then
      redis.call("ZREM", inbox, raw)
      redis.call("RPUSH", log, user_entry({ entry }, nil, now, "subagent"))
      receipt(receipts, entry, "cancelled", nil, now, "session-reset")
      event(events, ctl, now, "subagent.discarded", {
        id = entry.id, reason = "session-reset", batch = entry.metadata.batch, runs = metadata_of(entry.metadata.runs),
      })
    end
  end
end
