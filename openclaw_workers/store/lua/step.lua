--[[
  Journal one step of a running turn: append its entries, and bring back what the owner must know.

  KEYS[1]  session ctl       hash
  KEYS[2]  inbox             zset
  KEYS[3]  bound             zset
  KEYS[4]  receipts          hash
  KEYS[5]  transcript        list
  KEYS[6]  events            stream
  KEYS[7]  run               hash

  ARGV[1]  lease
  ARGV[2]  run id
  ARGV[3]  step number, one more than the last
  ARGV[4]  call id of the tool call that starts next, or ""
  ARGV[5]  1 if a model call comes next, so that steering may land
  ARGV[6]  usage of the step, JSON: input, output, cacheRead, cacheWrite
  ARGV[7]  events, a JSON list of {type, data}
  ARGV[8]  how many entries follow, then the entries (JSON) from ARGV[9] on

  Returns  {"ok", abort reason or "", steered user entries as a JSON list} | {"lost"}

  Invariant
    A step is written once, by the owner (rules 6, 13). A steered message is bound to this run in the same moment it
    enters the transcript (rule 10), and never from behind a waiting command (rule 9).
]]
local ctl, inbox, bound, receipts, log, events, run_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local lease, run, step, starting, may_steer = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == "1"
local usage, shown, count = cjson.decode(ARGV[6]), cjson.decode(ARGV[7]), tonumber(ARGV[8])
local first_entry = 9

local c = redis.call("HMGET", ctl, "lease", "step", "abort", "abort_reason", "steered", "shown_seq", "steer_seq", "steer_done")
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
add_usage(run_key, usage)
for _, item in ipairs(shown) do
  event(events, ctl, now, item.type, item.data)
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
    if entry.mode == "steer" or (backlog and entry.seq > shown_seq) then
      local user = user_entry({ entry }, run, now, entry.mode)
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
redis.call("HSET", ctl, "step", step, "progress", 1, "started", starting, "steered", answer, "shown_seq", shown_seq,
  "steer_done", steer_done)
return { "ok", abort, answer }
