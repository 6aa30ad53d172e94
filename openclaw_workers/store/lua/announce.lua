--[[
  Give a settled batch's results to whoever asked for them, once.

  KEYS[1]  batch              hash
  KEYS[2]  its open runs      set
  KEYS[3]  due                zset
  KEYS[4]  parent's row       hash; this one and the next five of whoever is above it, if it has vanished
  KEYS[5]  parent's ctl       hash
  KEYS[6]  parent's inbox     zset
  KEYS[7]  parent's receipts  hash
  KEYS[8]  receipt ages       zset
  KEYS[9]  parent's events    stream
  KEYS[10] parent's unfinished batches   zset
  KEYS[11] the run that spawned the batch    hash
  KEYS[12] run to open        hash
  KEYS[13] runs               zset
  KEYS[14] the lane's queue   list
  KEYS[15] batch of the run to open, if it is a child's   hash
  KEYS[16] its open runs      set
  KEYS[17] archive of the session id that asked, for results that come too late   list
  KEYS[18] archives           hash
  KEYS[19] sessions           zset

  ARGV[1]  batch id
  ARGV[2]  parent's session key
  ARGV[3]  message, a JSON object without its place
  ARGV[4]  message id
  ARGV[5]  run id to open if the parent is idle
  ARGV[6]  parent's lane
  ARGV[7]  parent's agent id
  ARGV[8]  milliseconds until a wake-up counts as lost
  ARGV[9]  wake-up for the run to open, or "" if the caller publishes it
  ARGV[10] the runs as viewers are shown them, a JSON list
  ARGV[11] 1 if the parent has vanished and the session given is the one above it

  Returns  {"gone"} | {"early"} | {"done"}                  nothing was changed
           {"vanished"}                                     nor here; the one above the parent is to hear it
           {"announced", how, run to wake or "", 1 if the run that spawned the batch is settled by this}
             how: delivered | none | attached | folded | archived | nobody

  Invariant
    A batch is announced once, and only when all of it has settled (rules 1, 4). The entry in the inbox and the end of the
    parent's waiting are one moment (rule 2). Nothing enters a life of the session that did not ask for it (rule 18).
]]
local batch, open, due, row, ctl, inbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local receipts, ages, events, batches, parent_key = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local run_key, runs, queue = KEYS[12], KEYS[13], KEYS[14]
local archive, archives = KEYS[17], KEYS[18]
local batch_id, parent, message, id, run = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local lane, agent, rewake_ms, wake, shown = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9], ARGV[10]
local now = now_ms()

local b = redis.call("HMGET", batch, "state", "mode", "parent_session_id", "parent_run", "cleanup", "let_go", "above", "above_id")
if not b[1] then
  redis.call("ZREM", due, "batch|" .. batch_id)
  return { "gone" }
end
if b[1] ~= "running" and b[1] ~= "settled" and b[1] ~= "blocked" then
  redis.call("ZREM", due, "batch|" .. batch_id)
  return { "done" }
end
if redis.call("SCARD", open) > 0 then
  return { "early" }
end

local function finish(how)
  redis.call("HSET", batch, "state", how, "announced_at", now)
  keep_batch(batch, RUN_KEPT_S)
  if how == "attached" or how == "folded" then
    carry(parent_key, batch)
  end
  if redis.call("ZREM", batches, batch_id) == 1 and not b[6] then
    count_batch(parent_key, -1)
  end
  redis.call("ZREM", due, "batch|" .. batch_id)
  for _, each in ipairs(cjson.decode(b[5])) do
    if each[2] >= 0 then
      redis.call("ZADD", due, now + each[2], "cleanup|" .. each[1])
    end
  end
  tell(events, ctl, now, "subagent.announced", { batch = batch_id, how = how, raw = { runs = shown } })
end

local p = redis.call("HMGET", parent_key, "state", "batch", "wake_on_descendant_settle", "settled_at", "text")
local is_child, over = p[2], is_final(p[1] or "ok")
local climbs, asked = ARGV[11] == "1", b[3]
local life = not climbs and redis.call("HGET", row, "sessionId")
-- One that waits in the midst of a turn, for another session's answer, has not had its last word yet.
local at = redis.call("HMGET", ctl, "state", "resumed", "run")
local rests = at[1] == "parked" and at[2] == "0" and at[3] == b[4]

-- The parent's own run is over, or wants no more turns: its announce carries these results up.
local function pass_up(how)
  finish(how)
  if open_batches(parent_key) > 0 then
    return { "announced", how, "", 0 }
  end
  if not over then
    redis.call("HSET", ctl, "state", "idle")
    redis.call("ZREM", due, "turn|" .. parent)
    end_run(parent_key, "ok", "complete", now)
    event(events, ctl, now, "run.ended", { run = b[4], state = "ok", reason = "complete", text = p[5] or "" })
  end
  count_child(parent_key, now, due)
  return { "announced", how, "", 1 }
end

if is_child and not life and not over then
  -- Its session vanished from under it: it can answer no more, and whoever asked it hears that.
  redis.call("HSET", parent_key, "error", "its session vanished")
  end_run(parent_key, "error", "session-delete", now)
  redis.call("ZREM", due, "turn|" .. parent)
  over = true
end
if is_child and over and not p[4] then
  return pass_up(b[2] == "none" and "none" or "folded")
end
if b[2] == "none" then
  if is_child and rests then
    return pass_up("none")
  end
  finish("none")
  return { "announced", "none", "", 0 }
end
if is_child and not over and p[3] == "0" and rests then
  return pass_up("attached")
end
if is_child and not over and p[3] == "0" then
  finish("attached") -- still speaking: its own last word ends it
  return { "announced", "attached", "", 0 }
end
if climbs then
  life, asked = redis.call("HGET", row, "sessionId"), b[8]
elseif not life and (b[7] or "") ~= "" then
  return { "vanished" }
end
if life and life ~= asked then
  -- In the same moment, so that nobody can die between the two. What the cut has noted is kept: it says more.
  redis.call("RPUSH", archive, user_entry({ cjson.decode(message) }, nil, now, "subagent"))
  redis.call("HSETNX", archives, asked, cjson.encode({ session_id = asked, agent_id = agent, session_key = parent }))
  redis.call("ZADD", due, now, "archive|" .. asked)
  if is_child and not over and rests then
    return pass_up("archived") -- its new life waits for nothing
  end
  finish("archived")
  return { "announced", "archived", "", 0 }
end
if not life then
  finish("nobody")
  return { "announced", "nobody", "", 0 }
end

local seq = redis.call("HINCRBY", ctl, "seq", 1)
local place = '{"seq":' .. seq .. ',"accepted_at":' .. now .. ',"mode":"steer","debounce_ms":0,'
redis.call("ZADD", inbox, seq, place .. string.sub(message, 2))
receipt(receipts, { id = id, seq = seq, accepted_at = now }, "accepted", nil, now)
redis.call("ZADD", ages, now, id)
redis.call("HSET", ctl, "steer_seq", seq)
redis.call("HSET", row, "updatedAt", now)
touch(KEYS[19], parent, now)

local c, woken = redis.call("HMGET", ctl, "resumed", "run", "run_key", "state"), ""
local state = c[4] or "idle"
if state == "parked" and c[1] == "0" then
  unpark(ctl, due, parent, now, rewake_ms)
  woken = c[2]
elseif state == "idle" then
  open_run(ctl, run_key, runs, due, parent, run, lane, agent, now, 0, rewake_ms)
  if c[3] then
    follow_up(c[3], run_key, run, KEYS[15], KEYS[16], now)
  end
  woken = push_wake(queue, wake) and "" or run
end
finish("delivered")
redis.call("HSET", batch, "parent_session", parent, "parent_session_id", life) -- who has heard it
return { "announced", "delivered", woken, 0 }
