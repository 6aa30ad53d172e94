--[[
  Deliver the results of a settled batch to whoever asked for them, once.

  includes  schema, clock, hashes, events, messages, lanes, transcripts, runs, sessions, batches, tree, outgoing,
            places

  keys
    batch       hash    batch
    open        set     its unsettled runs
    due         zset    index of due items
    row         hash    parent's row; of the session above it if the parent has vanished, like the next five keys
    ctl         hash    parent's control record
    inbox       zset    parent's inbox
    receipts    hash    parent's receipts
    events      stream  parent's events
    batches     zset    parent's unannounced batches
    parent_key  hash    run that spawned the batch
    run_key     hash    run to open
    runs        zset    index of runs
    queue       list    the lane's broker queue
    next_batch  hash    batch of the run to open, if it is a child's
    next_open   set     unsettled runs of that batch
    archive     list    archive of the session id that asked, for results that come too late
    archives    hash    archives that wait to be written
    sessions    zset    index of sessions
    outgoing    stream  new messages to chats
    places      hash    agent -> the place it is bound to
    places_apart  zset    agent -> when a live worker last did not see its place
  args
    batch_id      text    batch id
    parent        text    parent's session key
    message       text    message, a JSON object without its place
    id            text    message id
    run           text    run id to open if the parent is idle
    authority     text    authority of the message
    lane          text    parent's lane
    agent         text    parent's agent id
    rewake_ms     number  milliseconds after which an unanswered wake-up counts as lost
    wake_message  text    wake-up message for the run to open; empty if the caller publishes it
    shown         text    the runs as viewers see them, a JSON list
    climbs        flag    whether the parent has vanished and the session given is the one above it
    delivery      json    what goes to the parent's chat if the results came too late: policies (by channel that
                          pushes), messages

  Returns  {"gone"} | {"early"} | {"done"}   nothing was changed
           {"busy"}   the parent's inbox is full; the batch stays due, and nothing else was changed
           {"vanished"}   nothing was changed; the session above the parent must get the results
           {"announced", how, run to wake or "", 1 if this settles the run that spawned the batch}
             how: delivered | none | attached | folded | archived | nobody

  Invariant
    A batch is announced once, and only when all its runs have settled (rules 1, 4). The message enters the inbox in
    the moment that ends the parent's waiting (rule 2). Results never enter a session that was reset after it asked
    for them (rule 18).
]]
local FULL_AGAIN_MS = 5000
local now = now_ms()

local b = fields(
  batch, "state", "mode", "parent_session_id", "parent_run", "cleanup", "counted_down", "above", "above_id"
)
if not b.state then
  redis.call("ZREM", due, "batch|" .. batch_id)
  return { "gone" }
end
if b.state ~= "running" and b.state ~= "settled" and b.state ~= "blocked" then
  redis.call("ZREM", due, "batch|" .. batch_id)
  return { "done" }
end
if redis.call("SCARD", open) > 0 then
  return { "early" }
end

local function finish(how)
  redis.call("HSET", batch, "state", how, "announced_at", now)
  keep_batch(batch, RUN_KEPT_S, TEXT_KEPT_S)
  if how == "attached" or how == "folded" then
    carry(parent_key, batch)
  end
  if redis.call("ZREM", batches, batch_id) == 1 and not b.counted_down then
    count_batch(parent_key, -1)
  end
  redis.call("ZREM", due, "batch|" .. batch_id)
  for _, each in ipairs(cjson.decode(b.cleanup)) do
    if each[2] >= 0 then
      redis.call("ZADD", due, now + each[2], "cleanup|" .. each[1])
    end
  end
  event(events, ctl, now, "subagent.announced", { batch = batch_id, how = how, raw = { runs = shown } })
end

local p = fields(parent_key, "state", "batch", "wake_on_descendant_settle", "settled_at")
local is_child, over = p.batch, is_final(p.state or "ok")
local asked = b.parent_session_id
local session_id = not climbs and redis.call("HGET", row, "sessionId")
-- A run that parked within a turn, for another session's answer, has not given its own answer yet.
local at = fields(ctl, "state", "resumed", "run")
local rests = at.state == "parked" and at.resumed == "0" and at.run == b.parent_run

-- The parent's own run has ended, or wants no more turns: its announce carries these results up.
local function pass_up(how)
  finish(how)
  if open_batches(parent_key) > 0 then
    return { "announced", how, "", 0 }
  end
  if not over then
    redis.call("HSET", ctl, "state", "idle")
    redis.call("ZREM", due, "turn|" .. parent)
    end_run(parent_key, "ok", "complete", now)
    local text = redis.call("HGET", texts_key(parent_key), "text") or ""
    event(events, ctl, now, "run.ended", { run = b.parent_run, state = "ok", reason = "complete", text = text })
  end
  count_child(parent_key, now, due)
  return { "announced", how, "", 1 }
end

if is_child and not session_id and not over then
  -- Its session was deleted while it ran: it can no longer answer, and its parent must know.
  redis.call("HSET", parent_key, "error", "its session vanished")
  end_run(parent_key, "error", "session-delete", now)
  redis.call("ZREM", due, "turn|" .. parent)
  over = true
end
if is_child and over and not p.settled_at then
  return pass_up(b.mode == "none" and "none" or "folded")
end
if b.mode == "none" then
  if is_child and rests then
    return pass_up("none")
  end
  finish("none")
  return { "announced", "none", "", 0 }
end
if is_child and not over and p.wake_on_descendant_settle == "0" and rests then
  return pass_up("attached")
end
if is_child and not over and p.wake_on_descendant_settle == "0" then
  finish("attached") -- still running: its own commit ends it
  return { "announced", "attached", "", 0 }
end
if climbs then
  session_id, asked = redis.call("HGET", row, "sessionId"), b.above_id
elseif not session_id and (b.above or "") ~= "" then
  return { "vanished" }
end
if session_id and session_id ~= asked then
  -- Facts that the reset noted about this archive are kept: they say more.
  redis.call("RPUSH", archive, user_entry({ cjson.decode(message) }, nil, now, "subagent"))
  redis.call("HSETNX", archives, asked, cjson.encode({ v = SCHEMA, session_id = asked, agent_id = agent,
    session_key = parent }))
  redis.call("ZADD", due, now, "archive|" .. asked)
  send_to(outgoing, row, delivery.policies, last_route(delivery.policies, row), delivery.messages,
    { id = "out-" .. batch_id, session = parent }, now)
  if is_child and not over and rests then
    return pass_up("archived") -- after the reset it waits for nothing
  end
  finish("archived")
  return { "announced", "archived", "", 0 }
end
if not session_id then
  finish("nobody")
  return { "announced", "nobody", "", 0 }
end
if redis.call("ZCARD", inbox) >= INBOX_MOST then
  redis.call("ZADD", due, now + FULL_AGAIN_MS, "batch|" .. batch_id)
  return { "busy" }
end

local seq = redis.call("HINCRBY", ctl, "seq", 1)
local place = '{"seq":' .. seq .. ',"accepted_at":' .. now .. ',"mode":"steer","debounce_ms":0,'
redis.call("ZADD", inbox, seq, place .. string.sub(message, 2))
receipt(receipts, { id = id, seq = seq, accepted_at = now }, "accepted", nil, now)
redis.call("HSET", ctl, "steer_seq", seq)
redis.call("HSET", row, "updatedAt", now)
touch(sessions, parent, now)

local c, woken = fields(ctl, "resumed", "run", "run_key", "state"), ""
local state = c.state or "idle"
if state == "parked" and c.resumed == "0" then
  unpark(ctl, due, parent, now, rewake_ms)
  woken = c.run
elseif state == "idle" then
  open_run(ctl, run_key, runs, due, parent, run, lane, agent, now, 0, rewake_ms, authority)
  if c.run_key then
    follow_up(c.run_key, run_key, run, next_batch, next_open, now)
  end
  woken = push_wake(queue_for(queue, places, places_apart, agent), wake_message) and "" or run
end
finish("delivered")
redis.call("HSET", batch, "parent_session", parent, "parent_session_id", session_id) -- who received it
return { "announced", "delivered", woken, 0 }
