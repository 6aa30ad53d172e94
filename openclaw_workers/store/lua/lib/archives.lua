--[[
  Transcripts on their way to disk.

  includes  hashes, schema
]]
local ARCHIVE_PLACE_KEPT_S = 30 * 86400 -- blocked batches are kept for a week, so results come at most that late
local MOVED_AT_ONCE = 100
-- Append one list to another. Usually the other does not exist, and a rename copies nothing.
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

-- Turn the transcript into the archive of the old session id, and start the new one. A worker writes the archive to
-- disk as JSONL, and removes the files of a deleted session even if its transcript is empty. The key of the archive is
-- built here, because only the script knows the old id for certain.
local function cut_transcript(row, log, archive_prefix, archives, due, new_session_id, now, why, has_files)
  local has_log = redis.call("EXISTS", log) == 1
  if has_log or has_files then
    local old = fields(row, "sessionId", "agentId", "sessionKey", "lastThreadId", "sessionStartedAt",
      "spawnedWorkspaceDir")
    old.sessionId = old.sessionId or "unnamed-" .. now -- a damaged row must not keep the transcript from being written
    if has_log then
      local archive = archive_prefix .. old.sessionId
      append_list(log, archive)
    end
    redis.call("HSET", archives, old.sessionId, cjson.encode({
      v = SCHEMA, session_id = old.sessionId, agent_id = old.agentId, session_key = old.sessionKey, thread_id = old.lastThreadId,
      started_at = tonumber(old.sessionStartedAt),
      cut_at = now, why = why, workspace = old.spawnedWorkspaceDir or nil,
    }))
    redis.call("ZADD", due, now, "archive|" .. old.sessionId)
  end
  if new_session_id ~= "" then
    redis.call("HSET", row, "sessionId", new_session_id, "sessionStartedAt", now, "updatedAt", now,
      "lastInteractionAt", now, "inputTokens", 0, "outputTokens", 0, "totalTokens", 0, "cacheRead", 0, "cacheWrite",
      0, "contextTokens", 0,
      "compactionCount", 0, "turns", 0)
    redis.call("HDEL", row, "authProfileOverride") -- a new conversation has no prompt cache to stay with
  end
end
