--[[
  Add a job, or change one.

  includes  schema, clock, memory, jobs

  keys
    jobs    zset  job id -> when it was made
    job     hash  the job
    due     zset  index of due items
    memory  hash  how full Redis is
  args
    id        text    job id
    spec      text    the job (JSON)
    next_at   text    the time that is due next; empty for none
    verb      text    add | change | declare
    most      number  most jobs there may be

  Returns  {"put"} | {"same"} | {"known"} | {"missing"} | {"full"} | {"memory", percentage of memory in use}

  Invariant
    A declared job that stands as it did keeps its times (rule 13). A change that keeps the schedule keeps the time
    that is due next. A paused job stays paused.
]]
local old = redis.call("HGET", job, "job")
if verb == "add" and old then
  return { "known" }
end
if verb == "change" and not old then
  return { "missing" }
end
if verb == "declare" and old == spec then
  return { "same" }
end
if not old then
  local percent = lacks_memory(memory)
  if percent then
    return { "memory", percent }
  end
  if redis.call("ZCARD", jobs) >= most then
    return { "full" }
  end
end
redis.call("ZADD", jobs, "NX", now_ms(), id)

local function has_same_schedule()
  local before, after = cjson.decode(old).schedule, cjson.decode(spec).schedule
  for _, name in ipairs({ "kind", "at", "every", "anchor", "expr", "tz" }) do
    if before[name] ~= after[name] then
      return false
    end
  end
  return true
end

local keeps = old and has_same_schedule()
redis.call("HSET", job, "job", spec, "v", SCHEMA)
if not keeps then
  redis.call("HSET", job, "retries", 0)
  if (redis.call("HGET", job, "paused") or "") == "" then
    set_next(job, due, id, next_at)
  end
end
return { "put" }
