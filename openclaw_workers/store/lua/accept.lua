--[[
  Put a message into the inbox of its session, once, and say whether the session needs a wake-up.

  includes  schema, authority, clock, hashes, memory, events, messages, lanes, inbox, runs, sessions, tree, outgoing,
            system_events, jobs, questions, places

  keys
    row         hash    session row
    ctl         hash    session control record
    inbox       zset    waiting messages
    receipts    hash    message id -> receipt
    events      stream  events for viewers
    due         zset    index of due items
    sessions    zset    index of sessions
    run_key     hash    run to open
    runs        zset    index of runs
    queue       list    the lane's broker queue
    next_batch  hash    batch of the run to open, if it is a child's
    next_open   set     unsettled runs of that batch
    waiters     hash    sessions that wait for this one's answers
    dedupe      hash    where the first delivery of the message went
    memory      hash    how full Redis is
    outgoing    stream  new messages to chats
    event_list  list    events for the session's next turn
    event_keys  zset    events that the session has had
    bound       zset    messages that the current run answers
    open        zset    open questions
    asking      hash    questions that the session's run waits for
    job         hash    scheduled job that fires
    firings     hash    its firings that have not ended
    places      hash    agent -> the place it is bound to
    places_seen  zset    place -> when a worker that takes turns last saw it
    places_apart  zset    agent -> when a live worker last did not see its place
    places_where  hash    place -> host and directory, for people
    waits_prefix  set   start of the key of the sessions that wait for a place
  args
    session         text    session key
    message         text    message, a JSON object without seq, accepted_at, mode and debounce_ms
    id              text    message id
    kind            text    user | command | internal
    authority       text    how far its sender is trusted: anyone | authorized | owner
    mode            text    queue mode of the channel
    cap             number  most messages in the inbox when a person writes
    drop            text    what happens to a message too many: old | new | summarize
    run             text    run id to open if the session is idle
    lane            text    lane
    rewake_ms       number  milliseconds after which an unanswered wake-up counts as lost
    new_session_id  text    session id, if the session is new
    agent           text    agent id
    row_new         text    row fields of a new session
    row_each        text    row fields that every message sets; an empty value clears one
    row_route       text    the same, for where the session's replies go
    debounce_ms     number  debounce of the channel
    wake_message    text    wake-up message for the run to open; empty if the caller publishes it
    own_mode        text    queue mode of this message alone; empty for none
    masked          text    its text without secrets, if it holds some; that is kept as the answer to a question
    keep_s          number  seconds in which the channel may deliver the message again; 0 if it never does
    delivery        json    what goes to the chat of a dropped or rejected message: policies (by channel that pushes),
                            messages by their key (dropped, busy, full, place)
    system_event    text    event (JSON) that this message wakes the session for; empty for none
    firing          json    of a scheduled job: job (id), at (time), next (the time after it, empty for none), manual
                            (by hand: its times stay as they are); empty for other messages

  Returns  {"accepted", seq, run it opened or "", 1 if the caller must publish the wake-up, event id}
           {"duplicate", receipt (JSON) or "" if it has expired, session of the first delivery}
           {"memory", percentage of memory in use}   nothing was changed
           {"rejected", "busy" | "full" | "children" | "tree" | "gone", event id}   without an event id, nothing was
             recorded: the inbox is full, and the message can be tried again

  Invariant
    A message id enters the inbox at most once. A message that its channel delivers again enters no other inbox. A
    message that leaves the inbox here gets a receipt with the reason. Only the change from idle to queued makes a
    wake-up. A message from an agent does not restart a sub-agent beyond the limits of its parent or tree; it is
    counted and refused in the same moment. Nor does it bring a deleted sub-agent back (rule 19): nobody would read
    the answer. A time of a job is accepted once: the job moves on to its next time in the same moment, and whoever
    comes later finds that. A chat gets one notice per run that messages are dropped or rejected. While a wake-up waits,
    further events join it. A message that answers a question of the run joins that run, at once.
]]
local TICKS_MS = 5000 -- workers tick each second; if none has for this long, Redis was away, and nobody is judged
local now = now_ms()

local state = redis.call("HGET", ctl, "state") or "idle"
local last = state == "idle" and redis.call("HGET", ctl, "run_key")

local known = redis.call("HGET", receipts, id)
if known then
  return { "duplicate", known, session }
end
local first = keep_s > 0 and fields(dedupe, "session", "receipts") or {}
if first.session then
  return { "duplicate", redis.call("HGET", first.receipts, id) or "", first.session }
end
local percent = lacks_memory(memory)
if percent then
  return { "memory", percent }
end

-- What agents and jobs send is not dropped. Nothing is recorded of it, so that it can be tried again. Events are kept:
-- a session with a full inbox has a turn to come.
local is_full = redis.call("ZCARD", inbox) >= INBOX_MOST
if is_full and kind == "internal" then
  if system_event == "" then
    return { "rejected", "busy", "" }
  end
  add_system_event(event_list, event_keys, ctl, system_event, now)
  return { "duplicate", "", session }
end

if firing.job then
  if not firing.manual and not waits_for_time(job, firing.at) then
    return { "duplicate", "", session }
  end
  if not firing.manual then
    set_next(job, due, firing.job, firing.next)
  end
  open_firing(firings, due, firing.job, firing.at, session, id, now)
end

if redis.call("EXISTS", row) == 0 then
  if kind == "internal" and lane == "subagent" then
    return { "rejected", "gone", "" }
  end
  create_row(row, session, agent, new_session_id, now, cjson.decode(row_new))
  -- A deleted session left these to expire; they belong to the new one now.
  redis.call("PERSIST", receipts)
  redis.call("PERSIST", settled_key(receipts))
end
if keep_s > 0 then
  redis.call("HSET", dedupe, "session", session, "receipts", receipts, "v", SCHEMA)
  redis.call("EXPIRE", dedupe, keep_s)
end
redis.call("HSET", row, "updatedAt", now)
redis.call("ZADD", sessions, now, session)

if system_event ~= "" then
  local is_new = add_system_event(event_list, event_keys, ctl, system_event, now)
  local wake_id = redis.call("HGET", ctl, "wake_id")
  local waits = wake_id and redis.call("HGET", receipts, wake_id)
  if not is_new or (waits and cjson.decode(waits).state == "accepted") then
    return { "duplicate", waits or "", session }
  end
  redis.call("HSET", ctl, "wake_id", id)
end

local overrides = fields(row, "queueMode", "queueCap", "queueDrop", "queueDebounceMs")
debounce_ms = tonumber(overrides.queueDebounceMs) or debounce_ms
mode = own_mode ~= "" and own_mode or overrides.queueMode or mode
if mode == "interrupt" and not has_authority(authority, "authorized") then
  mode = "followup" -- who may not stop a turn does not interrupt one either
end
cap, drop = math.min(tonumber(overrides.queueCap) or cap, INBOX_MOST), overrides.queueDrop or drop

-- The question of an agent that this message answers: the run waits for it, and whoever wrote may answer.
local function question_for(entry_kind)
  local asks = state == "parked" and entry_kind == "user" and mode ~= "interrupt" and redis.call("HGET", ctl, "asks")
  local q = asks and fields(asks, "kind", "state", "run", "expires_at", "authority", "id")
  local is_for_it = q and q.kind == "ask" and has_authority(authority, q.authority)
    and is_open(q, fields(ctl, "run", "abort"), now)
  return is_for_it and asks, q and q.id
end
local question, question_id = question_for(kind)

-- Tell the chat of a message what happens to it, once per run: a flood of messages must not lead to one of notices.
local function tell_chat(entry, what)
  local routes = pushing_routes(delivery.policies, { entry })
  local current = #routes > 0 and redis.call("HGET", ctl, "run") or ""
  if #routes == 0 or redis.call("HGET", ctl, "notified " .. what) == current then
    return
  end
  redis.call("HSET", ctl, "notified " .. what, current)
  local notices = {}
  for _, notice in ipairs(delivery.messages) do
    notices[#notices + 1] = notice.key == what and notice or nil
  end
  send_to(outgoing, row, delivery.policies, routes, notices, { id = "out-" .. id, session = session }, now)
end

local function reject(why)
  receipt(receipts, { id = id, accepted_at = now }, "rejected", nil, now, why)
  if kind == "user" then
    tell_chat(cjson.decode(message), why)
  end
  return { "rejected", why, event(events, ctl, now, "message.rejected", { id = id, reason = why }, true) }
end

if kind == "user" and state ~= "idle" and mode == "reject" and not question then
  return reject("busy")
end
local crowded = kind == "internal" and last and lacks_room(last)
if crowded then
  return reject(crowded)
end
if kind == "user" and not question and redis.call("ZCARD", inbox) >= cap then
  if drop == "new" then
    return reject("full")
  end
  for index = 0, redis.call("ZCARD", inbox) - 1 do
    local raw = redis.call("ZRANGE", inbox, index, index)[1]
    local oldest = read_message(raw)
    if oldest.kind == "user" then
      redis.call("ZREM", inbox, raw)
      receipt(receipts, oldest, "dropped", nil, now, drop)
      tell_chat(oldest, "dropped")
      event(events, ctl, now, "message.dropped", { id = oldest.id, policy = drop }, true)
      if drop == "summarize" then
        local dropped = texts_in(redis.call("HGET", ctl, "dropped"))
        dropped[#dropped + 1] = oldest.summary
        if #dropped > cap then
          table.remove(dropped, 1)
        end
        redis.call("HSET", ctl, "dropped", cjson.encode(dropped))
      end
      is_full = false
      break
    end
  end
end
if is_full then
  return reject("full") -- nothing that waits may be dropped
end

local seq = redis.call("HINCRBY", ctl, "seq", 1)
local place = '{"seq":' .. seq .. ',"accepted_at":' .. now .. ',"mode":"' .. mode .. '","debounce_ms":' .. debounce_ms
local stored = place .. "," .. string.sub(message, 2)
if question then
  redis.call("ZADD", bound, seq, stored)
  receipt(receipts, { id = id, seq = seq, accepted_at = now }, "bound", redis.call("HGET", ctl, "run"), now)
  redis.call("HSET", question, "answer", masked ~= "" and masked or cjson.decode(message).text, "by", cjson.decode(message).sender or "")
  close_question(question, open, asking, ctl, events, question_id, "answered", now)
else
  redis.call("ZADD", inbox, seq, stored)
  receipt(receipts, { id = id, seq = seq, accepted_at = now }, "accepted", nil, now)
end
change_fields(row, cjson.decode(row_each))
local routed = cjson.decode(row_route)
-- A session with a thread of its own answers there. One that belongs to a chat is not moved by a message that comes
-- from no chat, such as one from the command line.
local has_chat = redis.call("HEXISTS", row, "lastTo") == 1 and (routed.lastTo or "") == ""
if redis.call("HEXISTS", row, "threadBinding") == 0 and not has_chat then
  change_fields(row, routed)
end
if mode == "steer" or mode == "steer-backlog" then
  redis.call("HSET", ctl, "steer_seq", seq)
end

if kind == "user" and mode == "interrupt" and state ~= "idle" then
  -- Rule 11: cancel what came before this message, and name the run to stop, not the session.
  wake_waiting_for(waiters, settle_messages(inbox, receipts, seq - 1, "cancelled", nil, now, "interrupt", true,
    true), due, now)
  if state == "running" or redis.call("HGET", ctl, "resumed") == "1" then
    redis.call("HSET", ctl, "abort", redis.call("HGET", ctl, "run"), "abort_reason", "interrupt")
  end
end

local waits_until = tonumber(redis.call("HGET", ctl, "ready_at") or 0)
if state == "queued" and mode == "collect" and waits_until > now then
  waits_until = debounce_ends_at(read_message(redis.call("ZRANGE", inbox, 0, 0)[1]), now, debounce_ms)
  redis.call("HSET", ctl, "ready_at", waits_until)
  redis.call("ZADD", due, waits_until, "turn|" .. session)
end

local wake, opened = 0, ""
local cut_short = kind == "user" and mode == "interrupt"
if state == "parked" and (cut_short or question or redis.call("HGET", ctl, "resumed") == "0") then
  unpark(ctl, due, session, now, rewake_ms)
  wake, opened = 1, redis.call("HGET", ctl, "run")
elseif state == "idle" then
  open_run(ctl, run_key, runs, due, session, run, lane, agent, now, 0, rewake_ms, authority)
  if last then
    follow_up(last, run_key, run, next_batch, next_open, now)
  end
  wake, opened = push_wake(queue_for(queue, places, places_apart, agent), wake_message) and 0 or 1, run
end
local event_id = event(events, ctl, now, "message.accepted", { id = id, seq = seq, mode = mode, run = opened }, true)
local apart_at = opened ~= "" and redis.call("ZSCORE", places_apart, agent)
if apart_at and now - apart_at < TICKS_MS then
  local place, seen_at = lost_place(places, places_seen, agent, now)
  if place then
    local keys = { ctl = ctl, row = row, run_key = redis.call("HGET", ctl, "run_key"), events = events,
      outgoing = outgoing, where = places_where, waits_prefix = waits_prefix }
    local routes = kind == "user" and pushing_routes(delivery.policies, { cjson.decode(message) }) or {}
    wait_for_place(keys, place, seen_at, routes, delivery, { session = session, run = opened, agent = agent }, now)
  end
end

return { "accepted", seq, opened, wake, event_id }
