--[[
  Ask people something that a running turn needs, or say how that question stands.

  includes  clock, hashes, fence, events, questions, schema

  keys
    ctl       hash    session control record
    question  hash    the question
    open      zset    open questions
    waiting   hash    questions that the session's run waits for
    run_key   hash    run record
    events    stream  events for viewers
  args
    session   text    session key
    lease     text    lease of the caller
    run       text    run id
    id        text    question id
    wait_ms   number  how long to wait for an answer
    keep_s    number  seconds for which the question is kept in all
    once      flag    whether the answer is handed out once: what it allows must not happen twice
    record    json    fields of the question

  Returns  {"waiting", milliseconds left} | {"answered", question as a flat list} | {"expired"} | {"used"} | {"lost"}

  Invariant
    One question per call, however often it is asked (rule 13). A worker that lost its lease asks nothing. An answer
    that allows something is handed to one owner of the run only (rule 22): if that one dies, nobody knows what it did.
    Waiting does not count as time of the turn.
]]
if not check_lease(ctl, lease) then
  return { "lost" }
end
local now = now_ms()
local q = fields(question, "state", "expires_at", "used", "run")
if not q.state then
  set_fields(question, record)
  redis.call("HSET", question, "id", id, "session", session, "run", run, "run_key", run_key, "state", "waiting",
    "asked_at", now, "expires_at", now + wait_ms, "v", SCHEMA)
  redis.call("EXPIRE", question, keep_s)
  redis.call("ZADD", open, now + wait_ms, id)
  local deadline = tonumber(redis.call("HGET", run_key, "deadline_at"))
  if deadline then
    -- Once, with the question: waiting for people must not use up the time of the turn.
    redis.call("HSET", run_key, "deadline_at", deadline + wait_ms)
  end
  event(events, ctl, now, "question.asked", { id = id, run = run, kind = record.kind, text = record.text,
    command = record.command ~= "" and record.command or nil, expires_at = now + wait_ms, raw = { choices = record.choices } })
  q = { state = "waiting", expires_at = now + wait_ms, run = run }
end
if q.used and q.used ~= lease then
  return { "used" }
end
local left = (tonumber(q.expires_at) or 0) - now
if q.state == "waiting" and left > 0 then
  redis.call("HSET", waiting, id, session)
  redis.call("EXPIRE", waiting, keep_s) -- a run that is stopped leaves its entry
  redis.call("HSET", ctl, "asks", question)
  return { "waiting", left }
end
if q.state == "waiting" then
  close_question(question, open, waiting, ctl, events, id, "expired", now)
  q.state = "expired"
end
if once then
  redis.call("HSET", question, "used", lease)
end
if q.state == "answered" then
  return { "answered", redis.call("HGETALL", question) }
end
return { "expired" }
