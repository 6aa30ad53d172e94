--[[
  Journal one step of a running turn: append its entries, and bring back what the owner must know.

  KEYS[1]  session ctl       hash
  KEYS[2]  inbox             zset
  KEYS[3]  bound             zset
  KEYS[4]  receipts          hash
  KEYS[5]  transcript        list
  KEYS[6]  events            stream
  KEYS[7]  run               hash
  KEYS[8]  ledger of the day   hash
  KEYS[9]  ledger of the day before   hash
  KEYS[10] for each budget two, from KEYS[10] on: what is spent and what is set aside   hashes

  ARGV[1]  lease
  ARGV[2]  run id
  ARGV[3]  step number, one more than the last
  ARGV[4]  call id of the tool call that starts next, or ""
  ARGV[5]  1 if a model call comes next, so that steering may land
  ARGV[6]  seconds that tools took since the last step
  ARGV[7]  events, a JSON list of {type, data}
  ARGV[8]  what to book, JSON: calls, a list of {id, entry, amounts, usage}, and attempts, a list of {id, attempt}
  ARGV[9]  how many entries follow, then the entries (JSON) from ARGV[10] on

  Returns  {"ok", abort reason or "", steered user entries as a JSON list} | {"lost"}

  Invariant
    A step is written once, by the owner (rules 6, 13); its calls are booked in any case (rule 14). A steered message is bound to this run in the same moment it
    enters the transcript (rule 10), and never from behind a waiting command (rule 9). A step that only asks for steering
    and finds none is no progress (rule 5).
]]
local ctl, inbox, bound, receipts, log, events, run_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local lease, run, step, starting, may_steer = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == "1"
local shown, count = cjson.decode(ARGV[7]), tonumber(ARGV[9])
local first_entry, first_budget = 10, 10

local c = redis.call("HMGET", ctl, "lease", "step", "abort", "abort_reason", "steered", "shown_seq", "steer_seq", "steer_done",
  "waits_for")
book(KEYS[8], KEYS[9], ARGV[8], run, run_key, c[1] == lease, KEYS, first_budget)
if c[1] ~= lease then
  return { "lost" }
end
local abort = c[3] == run and c[4] or ""
if step <= tonumber(c[2]) then
  return { "ok", abort, c[5] }
end

local now = now_ms()
for i = first_entry, first_entry + count - 1 do
  redis.call("RPUSH", log, ARGV[i])
end
if count > 0 and c[9] then
  redis.call("HDEL", ctl, "waits_for", "waits_on", "unread") -- the call that waited has its result in the transcript
end
charge_work(tonumber(ARGV[6]), KEYS, first_budget)
show(events, ctl, run_key, now, shown)

-- What a message asks of its turn must hold for it: else it waits for a turn of its own.
local function has_its_terms(entry)
  if keeps_terms({}, entry) then
    return true
  end
  local head = redis.call("ZRANGE", bound, 0, 0)[1]
  return keeps_terms(head and read_message(head) or {}, entry)
end

local steered, ids, shown_seq = {}, {}, tonumber(c[6]) or 0
local steer_seq, steer_done = tonumber(c[7]) or 0, tonumber(c[8]) or 0
if may_steer and abort == "" and steer_seq > steer_done then
  steer_done = steer_seq
  for _, raw in ipairs(redis.call("ZRANGE", inbox, 0, -1)) do
    local entry = read_message(raw)
    if entry.kind == "command" then
      steer_done = 0 -- what waits behind it may still be steered later
      break
    end
    local backlog = entry.mode == "steer-backlog"
    if has_its_terms(entry) and (entry.mode == "steer" or (backlog and entry.seq > shown_seq)) then
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
local in_vain = may_steer and count == 0 and #ids == 0
if not in_vain then
  redis.call("HSET", ctl, "progress", 1)
end
return { "ok", abort, answer }
