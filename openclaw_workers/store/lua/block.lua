--[[
  Give up announcing a batch after its last try, and let go of a child that waits for it.

  KEYS[1]  batch              hash
  KEYS[2]  due                zset
  KEYS[3]  the run that spawned the batch    hash
  KEYS[4]  ctl of that run's session         hash
  KEYS[5]  events of that session            stream

  ARGV[1]  batch id
  ARGV[2]  session key of the run that spawned it
  ARGV[3]  what went wrong
  ARGV[4]  what there is of the result of the run that spawned it

  Returns  {"blocked", 1 if the run that spawned the batch is settled by now} | {"no"}   where it is gone or was announced

  Invariant
    The results are kept, and can be announced later. A child that waited for them ends with that as its error: whoever
    asked it hears so, instead of waiting for ever (I4). A batch is let go once, however often it is blocked. When its
    record ends, its session is to forget it.
]]
local batch, due, parent_key, ctl, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local batch_id, parent, why = ARGV[1], ARGV[2], ARGV[3]
local DONE = { delivered = true, none = true, attached = true, folded = true, archived = true, nobody = true }
local now = now_ms()

local b = redis.call("HMGET", batch, "state", "parent_run", "let_go")
if not b[1] or DONE[b[1]] then
  return { "no" }
end
if b[1] ~= "blocked" then
  redis.call("HINCRBY", batch, "tries", 1)
  redis.call("HSET", batch, "state", "blocked", "last_error", why, "ends_told", 1)
  keep_batch(batch, RUN_KEPT_S)
  redis.call("ZREM", due, "batch|" .. batch_id)
  redis.call("ZADD", due, now + RUN_KEPT_S * 1000 + FORGET_MS, "forget|" .. batch_id .. " " .. parent)
end
local p = redis.call("HMGET", parent_key, "state", "batch", "settled_at", "k_events", "k_ctl", "label", "metadata")
if not p[2] then
  return { "blocked", 0 }
end
if not b[3] then
  redis.call("HSET", batch, "let_go", 1)
  count_batch(parent_key, -1)
end
if p[3] or open_batches(parent_key) > 0 then
  return { "blocked", p[3] and 1 or 0 }
end

local at = redis.call("HMGET", ctl, "state", "resumed", "run")
if at[1] == "parked" and at[2] == "0" and at[3] == b[2] then
  local told = "the results of its sub-agents could not be delivered (" .. why .. ")"
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. parent)
  redis.call("HSET", parent_key, "error", told, "partial", ARGV[4])
  end_run(parent_key, "error", "error", now)
  event(events, ctl, now, "run.ended", { run = b[2], state = "error", reason = "error", error = told })
  tell(p[4], p[5], now, "subagent.failed", {
    run = b[2], session = parent, label = p[6], state = "error", error = told, raw = metadata_of(p[7]),
  })
elseif not is_final(p[1]) then
  return { "blocked", 0 } -- still speaking: its own last word ends it
end
count_child(parent_key, now, due)
return { "blocked", 1 }
