--[[
  Show viewers something that is not worth a journal entry: text as it streams, output of a running tool.

  includes  clock, fence, events

  keys
    ctl      hash    session ctl
    events   stream  events
    run_key  hash    run
  args
    lease  text  lease
    shown  json  events, a JSON list of {type, data}

  Returns  {"ok"} | {"lost"}

  Invariant
    Only the owner of a session can be heard, here and by those who watch its parent.
]]
if not check_lease(ctl, lease) then
  return { "lost" }
end
show(events, ctl, run_key, now_ms(), shown)
return { "ok" }
