--[[
  Run records.

  includes  schema, hashes
]]
local RUN_KEPT_S = 7 * 86400
local TEXT_KEPT_S = 3600
local TEXT_BYTES = 8192
-- Open the next run of a session that has messages waiting. `authority` is that of the message that it will answer.
local function open_run(ctl, run_key, runs, due, session, run, lane, agent, now, ready_at, rewake_ms, authority)
  redis.call("HSET", run_key, "id", run, "session_key", session, "state", "queued", "queued_at", now,
    "lane", lane, "kind", lane == "subagent" and "subagent" or "main", "agent_id", agent, "attempt", 1,
    "authority", authority or "anyone", "v", SCHEMA)
  redis.call("ZADD", runs, now, run)
  -- Newer code may have been at work in the session. That stays marked.
  local form = redis.call("HGET", ctl, "v")
  redis.call("HSET", ctl, "run_key", run_key, "state", "queued", "run", run, "lane", lane, "attempt", 1, "step", 0,
    "progress", 0,
    "started", "", "resumed", 0, "how", "taken", "wakes", 1, "woken_at", now, "ready_at", ready_at, "steered", "[]",
    -- What did not fit into the run before may fit into this one, which another may have asked for.
    "steer_done", 0, "ticket", "", "losses", 0, "stalls", 0, "waits_at", "", "waits_for", "", "v",
    is_newer(form) and form or SCHEMA)
  redis.call("ZADD", due, ready_at > now and ready_at or now + rewake_ms, "turn|" .. session)
end

-- The beginning of a text, cut between two characters.
local function first_bytes(text, most)
  return #text <= most and text or (string.gsub(string.sub(text, 1, most), "[\192-\255][\128-\191]*$", ""))
end

local TITLE_BYTES = 240
-- The first line of a message.
local function beginning_of(text)
  return first_bytes(string.match(text, "[^\r\n]+") or "", TITLE_BYTES)
end

-- A run's list of owners is kept as JSON text; appending needs no decoding.
local function with_attempt(list, worker, now, how)
  local item = cjson.encode({ worker = worker, at = now, how = how })
  return list and (string.sub(list, 1, -2) .. "," .. item .. "]") or "[" .. item .. "]"
end

-- Add a field to the newest owner's entry; a repeat finds it there and changes nothing.
local function mark_attempt(run_key, name, value)
  local list = redis.call("HGET", run_key, "attempts")
  local last = list and string.match(list, "{[^{}]*}%]$")
  if last and not string.find(last, '"' .. name .. '":', 1, true) then
    local field = ',"' .. name .. '":' .. cjson.encode(value)
    redis.call("HSET", run_key, "attempts", string.sub(list, 1, -3) .. field .. "}]")
  end
end

-- The owner no longer has the run, which has not ended: it was lost, handed over, parked, or continues in a new turn.
local function leave_attempt(run_key, at, how)
  mark_attempt(run_key, "until", at)
  mark_attempt(run_key, "end", how)
end

-- Add messages that a run has settled to its record; a child's run settles some in each of its turns.
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

-- A run's texts stand beside its record, because they expire earlier; `TEXTS` in store/keys.py is the same.
local function texts_key(run_key)
  return run_key .. ":texts"
end

-- Keep the texts of a run: its answer (`text`) and what it had written when it failed (`partial`). `entry` is the index
-- of the last entry that it wrote to the transcript: the answer is found there when the text has expired. A child's
-- texts are kept whole until they are announced, those of others only up to a size.
local function put_texts(run_key, given, is_child, entry)
  local key = texts_key(run_key)
  for name, text in pairs(given) do
    local kept = is_child and text or first_bytes(text, TEXT_BYTES)
    if text == "" then
      redis.call("HDEL", key, name)
    else
      redis.call("HSET", key, name, kept)
    end
    if name == "text" and #kept < #text then
      redis.call("HSET", key, "shortened", 1)
    end
  end
  if entry then
    redis.call("HSET", run_key, "entry", entry)
  end
end

-- A child's record expires with its batch, because its siblings may run for long.
local function end_run(run_key, state, reason, now)
  redis.call("HSET", run_key, "state", state, "reason", reason, "ended_at", now)
  local batch = redis.call("HGET", run_key, "batch_key")
  if not batch or redis.call("EXISTS", batch) == 0 then
    redis.call("EXPIRE", run_key, RUN_KEPT_S)
    redis.call("EXPIRE", texts_key(run_key), TEXT_KEPT_S)
  end
end

local function is_final(state)
  return state == "ok" or state == "error" or state == "timeout" or state == "killed"
end
