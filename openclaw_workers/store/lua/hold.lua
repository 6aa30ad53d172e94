--[[
  Hold on to what a model call has taken from limits and budgets, for as long as it lasts: its owner is alive.

  KEYS[1]  for each limit two, from KEYS[1] on: calls at work (zset) and what they are about (hash), as in `limit`; then
           for each budget what is set aside (hash)

  ARGV[1]  run id
  ARGV[2]  id of the call
  ARGV[3]  how long it is kept from now on, milliseconds
  ARGV[4]  how many limits there are

  Returns  {"ok"}

  Invariant
    It gives nothing back that has ended, and touches nothing that another call of the run has taken since.
]]
local run, call, keep_ms, limits = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local first_key = 1
local first_budget = first_key + 2 * limits
local ends = now_ms() + keep_ms

for i = first_key, first_budget - 1, 2 do
  if redis.call("HGET", KEYS[i + 1], "call " .. run) == call then
    redis.call("ZADD", KEYS[i], "XX", ends, run)
  end
end
for i = first_budget, #KEYS do
  local aside = reserved(redis.call("HGET", KEYS[i], run) or "")
  if aside and aside.call == call then
    aside["until"] = ends
    redis.call("HSET", KEYS[i], run, cjson.encode(aside))
  end
end
return { "ok" }
