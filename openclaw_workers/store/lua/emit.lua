--[[
  Show viewers something that is not worth a journal entry: text as it streams, output of a running tool.

  KEYS[1]  session ctl       hash
  KEYS[2]  events            stream
  KEYS[3]  run               hash

  ARGV[1]  lease
  ARGV[2]  events, a JSON list of {type, data}

  Returns  {"ok"} | {"lost"}

  Invariant
    Only the owner of a session can be heard, here and by those who watch its parent.
]]
local ctl, events, run_key = KEYS[1], KEYS[2], KEYS[3]
local lease, shown = ARGV[1], cjson.decode(ARGV[2])
if redis.call("HGET", ctl, "lease") ~= lease then
  return { "lost" }
end
show(events, ctl, run_key, now_ms(), shown)
return { "ok" }
