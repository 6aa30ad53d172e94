--[[
  Show viewers something that is not worth a journal entry: text as it streams, output of a running tool.

  KEYS[1]  session ctl       hash
  KEYS[2]  events            stream

  ARGV[1]  lease
  ARGV[2]  events, a JSON list of {type, data}

  Returns  {"ok"} | {"lost"}

  Invariant
    Only the owner of a session can be heard.
]]
local ctl, events = KEYS[1], KEYS[2]
local lease, shown = ARGV[1], cjson.decode(ARGV[2])
if redis.call("HGET", ctl, "lease") ~= lease then
  return { "lost" }
end
local now = now_ms()
for _, item in ipairs(shown) do
  event(events, ctl, now, item.type, item.data)
end
return { "ok" }
