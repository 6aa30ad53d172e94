--[[
  Journal one step of a running turn, and return what the owner must know.

  includes  authority, clock, schema, fence, events, messages, reservations, ledger, inbox, transcripts

  keys
    ctl            hash    session control record
    inbox          zset    waiting messages
    bound          zset    messages that the current run answers
    receipts       hash    message id -> receipt
    log            list    transcript
    events         stream  events for viewers
    run_key        hash    run record
    ledger         hash    ledger of the day
    ledger_before  hash    ledger of the day before
    budget_keys…   keys    for each budget four: spent, reserved, ends, sums
  args
    lease           text    lease of the caller
    run             text    run id
    step            number  step number, one more than the last
    starting        text    id of the tool call that starts next; empty for none
    may_steer       flag    whether a model call comes next, so that messages may be steered in
    worked          number  seconds that tools took since the last step
    shown           json    events to show, a list of {type, data}
    ledger_entries  json    calls {id, entry, amounts, usage} and attempts {id, attempt} to record
    entries…        text    transcript entries (JSON)

  Returns  {"ok", abort reason or "", steered user entries as a JSON list} | {"lost"}

  Invariant
    A step is written once, by the owner (rules 6, 13). Its model calls are recorded in any case (rule 14). A steered
    message is bound to this run in the moment it enters the transcript (rule 10), and never overtakes a waiting
    command (rule 9). Its sender is trusted at least as far as the one whom this turn answers. A step that only asks for steering and finds none is no progress (rule 5).
]]
local owns, c = check_lease(ctl, lease, "step", "abort", "abort_reason", "steered", "shown_seq", "steer_seq",
  "steer_done",
  "waits_for")
local budgets = budgets_from(budget_keys)
record_calls(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)
if not owns then
  return { "lost" }
end
local abort = c.abort == run and c.abort_reason or ""
if step <= tonumber(c.step) then
  return { "ok", abort, c.steered }
end

-- The rest is looked at in the next step, so that a full inbox costs a step hardly more than a short one.
local STEERED_AT_ONCE = 25
local now = now_ms()
for _, entry in ipairs(entries) do
  redis.call("RPUSH", log, entry)
end
if #entries > 0 and c.waits_for then
  redis.call("HDEL", ctl, "waits_for", "waits_on", "unread") -- the call that waited has its result now
end
charge_work(worked, budgets)
show_events(events, ctl, run_key, now, shown)

-- A message that asks for another model or limit than this turn has waits for a turn of its own. So does one of a
-- sender who is trusted less: this turn has more tools than such a message may use.
local head
local function fits_in(entry)
  if not head then
    local raw = redis.call("ZRANGE", bound, 0, 0)[1]
    head = raw and read_message(raw) or {}
  end
  return has_authority(entry.authority, head.authority) and (keeps_terms({}, entry) or keeps_terms(head, entry))
end

local steered, ids, shown_seq = {}, {}, tonumber(c.shown_seq) or 0
local steer_seq, steer_done = tonumber(c.steer_seq) or 0, tonumber(c.steer_done) or 0
if may_steer and abort == "" and steer_seq > steer_done then
  -- Only what came since the last look. What did not fit then has a turn of its own.
  local new = redis.call("ZRANGEBYSCORE", inbox, "(" .. steer_done, "+inf", "LIMIT", 0, STEERED_AT_ONCE)
  steer_done = #new < STEERED_AT_ONCE and steer_seq or steer_done
  for _, raw in ipairs(new) do
    local entry = read_message(raw)
    if entry.kind == "command" or is_newer(entry.v) then
      steer_done = entry.seq - 1 -- messages behind it may still be steered in later
      break
    end
    steer_done = math.max(steer_done, entry.seq)
    local backlog = entry.mode == "steer-backlog"
    if fits_in(entry) and (entry.mode == "steer" or (backlog and entry.seq > shown_seq)) then
      local user = user_entry({ entry }, run, now, entry.kind == "internal" and entry.metadata.provenance or entry.mode)
      redis.call("RPUSH", log, user)
      steered[#steered + 1] = user
      ids[#ids + 1] = entry.id
      if backlog then
        shown_seq = entry.seq
      else
        redis.call("ZREM", inbox, raw)
        redis.call("ZADD", bound, entry.seq, raw)
        receipt(receipts, entry, "bound", run, now)
      end
    end
  end
end
local answer = "[" .. table.concat(steered, ",") .. "]"
if #ids > 0 then
  event(events, ctl, now, "run.steered", { run = run, messages = ids })
end
redis.call("HSET", ctl, "step", step, "started", starting, "steered", answer, "shown_seq", shown_seq,
  "steer_done", steer_done)
local in_vain = may_steer and #entries == 0 and #ids == 0
if not in_vain then
  redis.call("HSET", ctl, "progress", 1)
end
return { "ok", abort, answer }
