--[[
  Sessions, transcripts and run records.
]]
-- The order of sessions follows their `updatedAt`; one that was deleted must not come back by it (rule 19).
local function touch(sessions, session, now)
  redis.call("ZADD", sessions, "XX", now, session)
end

local MOVED_AT_ONCE = 100

-- Put a list behind another one. Usually there is no other one, and nothing is copied.
local function append_list(from, to)
  if redis.call("EXISTS", to) == 0 then
    redis.call("RENAME", from, to)
    return
  end
  for first = 0, redis.call("LLEN", from) - 1, MOVED_AT_ONCE do
    redis.call("RPUSH", to, unpack(redis.call("LRANGE", from, first, first + MOVED_AT_ONCE - 1)))
  end
  redis.call("DEL", from)
end

-- Cut the transcript off under a new session id. It becomes the archive of the old id, which is written out as JSONL; that
-- also removes the files of a session that is deleted, even if it has said nothing. The key of the archive is made here,
-- because nobody else knows the old id for certain.
local function cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, why, has_files)
  local has_log = redis.call("EXISTS", log) == 1
  if has_log or has_files then
    local old = redis.call("HMGET", row, "sessionId", "agentId", "sessionKey", "lastThreadId", "sessionStartedAt",
      "spawnedWorkspaceDir")
    old[1] = old[1] or "unnamed-" .. now -- a damaged row must not keep what was said from being written
    if has_log then
      local archive = archive_prefix .. old[1]
      append_list(log, archive)
    end
    redis.call("HSET", archives, old[1], cjson.encode({
      session_id = old[1], agent_id = old[2], session_key = old[3], thread_id = old[4], started_at = tonumber(old[5]),
      cut_at = now, why = why, workspace = old[6] or nil,
    }))
    redis.call("ZADD", due, now, "archive|" .. old[1])
  end
  if new_session_id ~= "" then
    redis.call("HSET", row, "sessionId", new_session_id, "sessionStartedAt", now, "updatedAt", now,
      "lastInteractionAt", now, "inputTokens", 0, "outputTokens", 0, "totalTokens", 0, "cacheRead", 0, "cacheWrite", 0, "contextTokens", 0,
      "compactionCount", 0, "turns", 0)
    redis.call("HDEL", row, "authProfileOverride") -- a new conversation has no cache that a key would keep
  end
end

-- The newest of these entries of a transcript, oldest first: as many as fit into an answer, and one at least. One by one:
-- nothing else tells how large an entry is before it is read.
local ANSWER_BYTES = 512 * 1024
local function newest_entries(log, first, last)
  local entries, size = {}, 0
  for index = last, first, -1 do
    local entry = redis.call("LINDEX", log, index)
    size = size + #entry
    if size > ANSWER_BYTES and #entries > 0 then
      break
    end
    entries[#entries + 1] = entry
  end
  for index = 1, math.floor(#entries / 2) do
    local other = #entries + 1 - index
    entries[index], entries[other] = entries[other], entries[index]
  end
  return entries
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
  local all, known = texts_in(redis.call("HGET", run_key, "covers")), {}
  for _, id in ipairs(all) do
    known[id] = true
  end
  for _, id in ipairs(ids) do
    if not known[id] then
      all[#all + 1] = id
    end
  end
  redis.call("HSET", run_key, "covers", list_of(all))
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
