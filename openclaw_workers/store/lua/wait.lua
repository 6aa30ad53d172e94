--[[
  Wait for the answer to a message that was sent to another session, if there is something to wait for.

  includes  clock

  keys
    receipts  hash  the other session's receipts
    waiters   hash  who waits for its answers
    ctl       hash  ctl of the session that waits
  args
    id           text    message id
    session      text    session that waits
    wait_ms      number  how long it waits in all, from when the message was accepted, milliseconds
    only_expect  flag    1 if the message is sent next: it is only written down that its answer will be waited for
    target       text    the other session

  Returns  {"waiting", milliseconds left} | {"over", receipt} | {"settled", receipt} | {"gone"}

  Invariant
    A session is entered as waiting only while the answer has not come, and is not any more once it was told that its time
    is over: so an answer reaches it by its wait or in another way, never both. What its run waits for is written down
    with the run before it is asked, however fast the answer, and goes when the answer is recorded, or with the run: an
    answer that comes later finds nobody waiting.
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
  known.accepted_at = now -- the clock stepped back: the wait begins again, and does not last as much longer
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
