--[[
  Add a system event for the next turn of a session, without waking it.

  includes  clock, system_events

  keys
    row            hash  session row
    ctl            hash  session control record
    system_events  list  events for the session's next turn
    event_keys     zset  events that the session has had
  args
    system_event  text  event (JSON)

  Returns  {"added"} | {"known"} | {"missing"}   there is no such session

  Invariant
    An event with a key that was used within a day changes nothing (rule 13). Nothing is created by writing (rule 19).
    Events are bounded by number and size; what is pushed out is counted, and the turn says how many.
]]
if redis.call("EXISTS", row) == 0 then
  return { "missing" }
end
return { add_system_event(system_events, event_keys, ctl, system_event, now_ms()) and "added" or "known" }
