--[[
  Wait for the answer to a message that was sent to another session, if it can still come.

  includes  clock

  keys
    receipts  hash  the other session's receipts
    waiters   hash  sessions that wait for the other one's answers
    ctl       hash  control record of the session that waits
  args
    id           text    message id
    session      text    session that waits
    wait_ms      number  how long it waits in all, from when the message was accepted
    only_expect  flag    whether the message is sent next: only note that its answer is expected
    target       text    the other session

  Returns  {"waiting", milliseconds left} | {"over", receipt} | {"settled", receipt} | {"gone"}

  Invariant
    A session counts as waiting only until the answer has come or its time is over. So an answer reaches it through
    the wait or in another way, never both. What a run waits for is noted before the message is sent, however fast the
    answer, and is removed when the answer is recorded or the run ends.
]]
local function write_down()
  if (redis.call("HGET", ctl, "state") or "idle") ~= "idle" then
    redis.call("HSET", ctl, "waits_for", id, "waits_on", target)
  end
  return { "waiting", wait_ms }
end

if only_expect then
  return write_down()
end
local raw = redis.call("HGET", receipts, id)
local known, now = raw and cjson.decode(raw), now_ms()
if known and known.accepted_at > now then
  known.accepted_at = now -- the clock stepped back: start the wait again, so that it does not last longer by the step
  raw = cjson.encode(known)
  redis.call("HSET", receipts, id, raw)
end
local settled = known and known.state ~= "accepted" and known.state ~= "bound"
local left = known and math.ceil(known.accepted_at + wait_ms - now) or 0
if not known or settled or left <= 0 then
  redis.call("HDEL", waiters, id)
  if not settled and redis.call("HGET", ctl, "waits_for") == id then
    redis.call("HDEL", ctl, "waits_for", "waits_on", "unread")
  end
  if not known then
    return { "gone" }
  end
  return { settled and "settled" or "over", raw }
end
redis.call("HSET", waiters, id, session)
write_down()
return { "waiting", left }
