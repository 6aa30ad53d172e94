--[[
  Pass over a time of a job without firing it.

  includes  clock, jobs

  keys
    job  hash  the job
    log  list  its run log
    due  zset  index of due items
  args
    id       text    job id
    at       text    the time
    next_at  text    the time that is due next; empty for none
    state    text    what the run log says: ok | skipped | missed; empty: it says nothing
    reason   text    why
    session  text    session that got the event, if any
    kept     number  most lines of the run log

  Returns  {"passed"} | {"other"}   another worker was faster, or the job is paused or gone

  Invariant
    A time is passed over once, by whoever finds that the job waits for it (rule 13).
]]
if not waits_for_time(job, at) then
  return { "other" }
end
set_next(job, due, id, next_at)
if next_at == "" then
  retire_job(due, id, now_ms())
end
if state ~= "" then
  log_firing(job, log, kept, now_ms(), { time = tonumber(at), state = state, reason = reason, session = session })
end
return { "passed" }
