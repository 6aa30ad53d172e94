--[[
  Give up announcing a batch after the last try, and end the wait of a child that spawned it.

  includes  clock, hashes, events, runs, batches, outgoing

  keys
    batch       hash    batch
    due         zset    index of due items
    parent_key  hash    run that spawned the batch
    ctl         hash    control record of that run's session
    events      stream  events of that session
    row         hash    row of that session
    outgoing    stream  new messages to chats
  args
    batch_id  text  batch id
    parent    text  session key of the run that spawned it
    why       text  what went wrong
    partial   text  what the run had written so far
    delivery  json  what goes to the session's chat if nobody above it hears of this: policies (by channel that
                    pushes), messages

  Returns  {"blocked", 1 if the run that spawned the batch is settled now} | {"no"}   the batch is gone or was announced

  Invariant
    The results are kept and can be announced later. A child that waited for them ends with this error, so that its
    parent does not wait for ever (I4). A batch is counted down once, however often it is blocked. When its record
    expires, its session forgets it.
]]
local DONE = { delivered = true, none = true, attached = true, folded = true, archived = true, nobody = true }
local now = now_ms()

local b = fields(batch, "state", "parent_run", "counted_down")
if not b.state or DONE[b.state] then
  return { "no" }
end
if b.state ~= "blocked" then
  redis.call("HINCRBY", batch, "tries", 1)
  redis.call("HSET", batch, "state", "blocked", "last_error", why, "ends_reported", 1)
  keep_batch(batch, RUN_KEPT_S)
  redis.call("ZREM", due, "batch|" .. batch_id)
  redis.call("ZADD", due, now + RUN_KEPT_S * 1000 + FORGET_MS, "forget|" .. batch_id .. " " .. parent)
end
local p = fields(parent_key, "state", "batch", "settled_at", "events_key", "ctl_key", "label", "metadata")
if not p.batch then
  if b.state ~= "blocked" then
    send_to(outgoing, row, delivery.policies, last_route(delivery.policies, row), delivery.messages,
      { id = "out-" .. batch_id, session = parent }, now)
  end
  return { "blocked", 0 }
end
if not b.counted_down then
  redis.call("HSET", batch, "counted_down", 1)
  count_batch(parent_key, -1)
end
if p.settled_at or open_batches(parent_key) > 0 then
  return { "blocked", p.settled_at and 1 or 0 }
end

local at = fields(ctl, "state", "resumed", "run")
if at.state == "parked" and at.resumed == "0" and at.run == b.parent_run then
  local failure = "the results of its sub-agents could not be delivered (" .. why .. ")"
  redis.call("HSET", ctl, "state", "idle")
  redis.call("ZREM", due, "turn|" .. parent)
  redis.call("HSET", parent_key, "error", failure)
  put_texts(parent_key, { partial = partial }, true)
  end_run(parent_key, "error", "error", now)
  event(events, ctl, now, "run.ended", { run = b.parent_run, state = "error", reason = "error", error = failure })
  event(p.events_key, p.ctl_key, now, "subagent.failed", {
    run = b.parent_run, session = parent, label = p.label, state = "error", error = failure,
    raw = metadata_of(p.metadata),
  })
elseif not is_final(p.state) then
  return { "blocked", 0 } -- still running: its own commit ends it
end
count_child(parent_key, now, due)
return { "blocked", 1 }
