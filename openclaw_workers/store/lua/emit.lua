--[[
  Show viewers something that is not worth a journal entry: streamed text, output of a running tool.

  includes  clock, fence, events

  keys
    ctl      hash    session control record
    events   stream  events for viewers
    run_key  hash    run record
  args
    lease  text  lease of the caller
    shown  json  events to show, a list of {type, data}

  Returns  {"ok"} | {"lost"}

  Invariant
    Only the owner of a session can show events, to its viewers and to those of its parent.
]]
if not check_lease(ctl, lease) then
  return { "lost" }
end
show_events(events, ctl, run_key, now_ms(), shown)
return { "ok" }
