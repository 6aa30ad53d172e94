--[[
  Keep what a model call has taken from limits and budgets while the call lasts.

  includes  clock, reservations

  keys
    held…  keys  for each limit two: calls in progress (zset) and their call ids (hash), as in `limit`; then for each
                 budget four: spent, reserved, ends, sums
  args
    run        text    run id
    call       text    call id
    keep_ms    number  how long it is kept from now on
    limits     number  how many limits there are
    lasted_ms  number  how long the call has lasted; 0 while it waits to begin
    allowed…   number  seconds that each budget allows; 0 for no limit

  Returns  {"ok", milliseconds until the seconds of a budget are used up; -1 if none is limited}
           {"over", which budget, from 1, seconds spent including calls in progress, limit}

  Invariant
    Nothing that has expired comes back, and nothing that another call of the run has taken since is touched. The
    duration of a call is not known in advance, so the seconds of all calls in progress count while they pass.
]]
local first_budget = 1 + 2 * limits
local now = now_ms()
local ends = now + keep_ms

for i = 1, first_budget - 1, 2 do
  if redis.call("HGET", held[i + 1], "call " .. run) == call then
    redis.call("ZADD", held[i], "XX", ends, run)
  end
end

local left_ms = -1
for number, budget in ipairs(budgets_from(held, first_budget)) do
  local reservation = reserved(redis.call("HGET", budget.reserved, run) or "")
  if reservation and reservation.call == call then
    reservation["until"] = ends
    reservation.since = now - lasted_ms
    reservation.lasted = lasted_ms / 1000
    put_reservation(budget, run, reservation)
    local limit = allowed[number]
    if limit > 0 then
      drop_expired(budget, now, keep_ms)
      local count, passed = in_progress(budget, now)
      local spent = (tonumber(redis.call("HGET", budget.spent, "seconds") or 0) or 0) + passed
      if spent >= limit then
        return { "over", number, tostring(spent), tostring(limit) }
      end
      -- All calls in progress use up the time together.
      local left = math.ceil((limit - spent) * 1000 / count)
      left_ms = left_ms < 0 and left or math.min(left_ms, left)
    end
  end
end
return { "ok", left_ms }
