--[[
  Take a message into its session's inbox, once, and say whether the session needs a wake-up.

  KEYS[1]  session row       hash
  KEYS[2]  session ctl       hash
  KEYS[3]  inbox             zset
  KEYS[4]  receipts          hash
  KEYS[5]  receipt ages      zset
  KEYS[6]  events            stream
  KEYS[7]  due               zset
  KEYS[8]  sessions          zset
  KEYS[9]  run to open       hash
  KEYS[10] runs              zset
  KEYS[11] the lane's queue  list
  KEYS[12] batch of the run to open, if it is a child's   hash
  KEYS[13] its open runs     set
  KEYS[14] who waits for answers of the session  hash
  KEYS[15] where the message went when it was first delivered   hash
  KEYS[16] memory            hash

  ARGV[1]  session key
  ARGV[2]  message, a JSON object without seq, accepted_at, mode and debounce_ms
  ARGV[3]  message id
  ARGV[4]  kind: user | command | internal
  ARGV[5]  queue mode by channel or default
  ARGV[6]  inbox cap
  ARGV[7]  drop policy: old | new | summarize
  ARGV[8]  run id to open if the session is idle
  ARGV[9]  lane
  ARGV[10] milliseconds until a wake-up counts as lost
  ARGV[11] session id if the session is new
  ARGV[12] agent id
  ARGV[13] row fields of a new session, JSON object of strings
  ARGV[14] row fields of every message (routing), JSON object of strings
  ARGV[15] debounce by channel or default, milliseconds
  ARGV[16] wake-up for the run to open, or "" if the caller publishes it
  ARGV[17] queue mode of this message alone, over the session's own; or ""
  ARGV[18] seconds for which its channel may deliver it again, to whichever session; 0 if it does so once

  Returns  {"accepted", seq, run or "", 1 if the caller must publish its wake-up, event id}
           {"duplicate", receipt JSON or "" if it is forgotten, session that it went to}
           {"memory", how full Redis is in per cent}   nothing was changed
           {"rejected", "busy" | "full" | "children" | "tree" | "gone", event id}

  Invariant
    A message id enters the inbox at most once, and a message that its channel delivers again enters no other. Whatever leaves the inbox here leaves a receipt with the reason.
    Only the change from idle to queued makes a wake-up. An agent's message starts no sub-agent again that would be one
    too many for the session that spawned it, or for the tree: it is counted and refused in the same moment. Nor does it
    bring back a sub-agent that was deleted (rule 19): nobody would hear its answer.
]]
local row, ctl, inbox, receipts, ages, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local due, sessions, run_key, runs, queue = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local session, message, id, kind = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local mode, cap, drop = ARGV[5], tonumber(ARGV[6]), ARGV[7]
local run, lane, rewake_ms = ARGV[8], ARGV[9], tonumber(ARGV[10])
local new_session_id, agent, row_new, row_each = ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local debounce_ms, wake_message, own_mode = tonumber(ARGV[15]), ARGV[16], ARGV[17]
local now = now_ms()

local state = redis.call("HGET", ctl, "state") or "idle"
local last = state == "idle" and redis.call("HGET", ctl, "run_key")

local known = redis.call("HGET", receipts, id)
if known then
  return { "duplicate", known, session }
end
local keep_s = tonumber(ARGV[18])
local first = keep_s > 0 and redis.call("HMGET", KEYS[15], "session", "receipts") or {}
if first[1] then
  return { "duplicate", redis.call("HGET", first[2], id) or "", first[1] }
end
local percent = lacks_memory(KEYS[16])
if percent then
  return { "memory", percent }
end

if redis.call("EXISTS", row) == 0 then
  if kind == "internal" and lane == "subagent" then
    return { "rejected", "gone", "" }
  end
  redis.call("HSET", row, "sessionKey", session, "agentId", agent, "sessionId", new_session_id,
    "createdAt", now, "sessionStartedAt", now, "lastInteractionAt", now)
  -- A deleted session left these to expire; now they belong to a living one again.
  redis.call("PERSIST", receipts)
  redis.call("PERSIST", ages)
  redis.call("PERSIST", events)
  set_fields(row, cjson.decode(row_new))
end
if keep_s > 0 then
  redis.call("HSET", KEYS[15], "session", session, "receipts", receipts)
  redis.call("EXPIRE", KEYS[15], keep_s)
end
redis.call("HSET", row, "updatedAt", now)
redis.call("ZADD", sessions, now, session)

local overrides = redis.call("HMGET", row, "queueMode", "queueCap", "queueDrop", "queueDebounceMs")
debounce_ms = tonumber(overrides[4]) or debounce_ms
mode = own_mode ~= "" and own_mode or overrides[1] or mode
cap, drop = tonumber(overrides[2]) or cap, overrides[3] or drop

local function reject(why)
  receipt(receipts, { id = id, accepted_at = now }, "rejected", nil, now, why)
  redis.call("ZADD", ages, now, id)
  forget_old_receipts(receipts, ages)
  return { "rejected", why, event(events, ctl, now, "message.rejected", { id = id, reason = why }, true) }
end

if kind == "user" and state ~= "idle" and mode == "reject" then
  return reject("busy")
end
local crowded = kind == "internal" and last and lacks_room(last)
if crowded then
  return reject(crowded)
end
if kind == "user" and redis.call("ZCARD", inbox) >= cap then
  if drop == "new" then
    return reject("full")
  end
  for index = 0, redis.call("ZCARD", inbox) - 1 do
    local raw = redis.call("ZRANGE", inbox, index, index)[1]
    local oldest = read_message(raw)
    if oldest.kind == "user" then
      redis.call("ZREM", inbox, raw)
      receipt(receipts, oldest, "dropped", nil, now, drop)
      event(events, ctl, now, "message.dropped", { id = oldest.id, policy = drop }, true)
      if drop == "summarize" then
        local dropped = texts_in(redis.call("HGET", ctl, "dropped"))
        dropped[#dropped + 1] = oldest.summary
        if #dropped > cap then
          table.remove(dropped, 1)
        end
        redis.call("HSET", ctl, "dropped", cjson.encode(dropped))
      end
      break
    end
  end
end

local seq = redis.call("HINCRBY", ctl, "seq", 1)
local place = '{"seq":' .. seq .. ',"accepted_at":' .. now .. ',"mode":"' .. mode .. '","debounce_ms":' .. debounce_ms
redis.call("ZADD", inbox, seq, place .. "," .. string.sub(message, 2))
receipt(receipts, { id = id, seq = seq, accepted_at = now }, "accepted", nil, now)
redis.call("ZADD", ages, now, id)
set_fields(row, cjson.decode(row_each))
if mode == "steer" or mode == "steer-backlog" then
  redis.call("HSET", ctl, "steer_seq", seq)
end

if kind == "user" and mode == "interrupt" and state ~= "idle" then
  -- Rule 11: what came before this message is cancelled; the running turn is named, not the session.
  heard_by(KEYS[14], settle_messages(inbox, receipts, seq - 1, "cancelled", nil, now, "interrupt", true, true), due, now)
  if state == "running" or redis.call("HGET", ctl, "resumed") == "1" then
    redis.call("HSET", ctl, "abort", redis.call("HGET", ctl, "run"), "abort_reason", "interrupt")
  end
end

local waits_until = tonumber(redis.call("HGET", ctl, "ready_at") or 0)
if state == "queued" and mode == "collect" and waits_until > now then
  waits_until = quiet_at(read_message(redis.call("ZRANGE", inbox, 0, 0)[1]), now, debounce_ms)
  redis.call("HSET", ctl, "ready_at", waits_until)
  redis.call("ZADD", due, waits_until, "turn|" .. session)
end

local wake, opened = 0, ""
local cut_short = kind == "user" and mode == "interrupt"
if state == "parked" and (cut_short or redis.call("HGET", ctl, "resumed") == "0") then
  unpark(ctl, due, session, now, rewake_ms)
  wake, opened = 1, redis.call("HGET", ctl, "run")
elseif state == "idle" then
  open_run(ctl, run_key, runs, due, session, run, lane, agent, now, 0, rewake_ms)
  if last then
    follow_up(last, run_key, run, KEYS[12], KEYS[13], now)
  end
  wake, opened = push_wake(queue, wake_message) and 0 or 1, run
end
local event_id = event(events, ctl, now, "message.accepted", { id = id, seq = seq, mode = mode, run = opened }, true)

forget_old_receipts(receipts, ages)
return { "accepted", seq, opened, wake, event_id }
