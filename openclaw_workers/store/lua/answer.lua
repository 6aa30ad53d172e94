--[[
  Answer a question that a run waits for, and wake the run.

  includes  clock, hashes, tree, questions

  keys
    ctl       hash    control record of the session that asked
    question  hash    the question
    open      zset    open questions
    waiting   hash    questions that the session's run waits for
    due       zset    index of due items
    events    stream  events for viewers
  args
    session    text    session key
    id         text    question id
    answer     text    answer
    by         text    who answers
    rewake_ms  number  milliseconds after which an unanswered wake-up counts as lost

  Returns  {"answered", run to wake or ""} | {"late", state, answer, who gave it} | {"gone"}

  Invariant
    The first answer counts. A repeat of it gets the same reply and wakes nobody (rule 13). An answer to a run that was
    stopped, or that is no longer the session's, changes nothing.
]]
local now = now_ms()

local q = fields(question, "state", "run", "expires_at", "answer", "by")
if not q.state then
  return { "gone" }
end
if q.state == "answered" and q.answer == answer and q.by == by then
  return { "answered", "" }
end
if q.state ~= "waiting" then
  return { "late", q.state, q.answer or "", q.by or "" }
end
local c = fields(ctl, "state", "run", "abort")
if not is_open(q, c, now) then
  local over = now >= (tonumber(q.expires_at) or 0)
  close_question(question, open, waiting, ctl, events, id, over and "expired" or "cancelled", now)
  return over and { "late", "expired", "", "" } or { "gone" }
end
redis.call("HSET", question, "answer", answer, "by", by)
close_question(question, open, waiting, ctl, events, id, "answered", now)
-- A run that has not parked yet finds the answer when it tries to.
if c.state == "parked" then
  unpark(ctl, due, session, now, rewake_ms)
  return { "answered", c.run }
end
return { "answered", "" }
