--[[
  Enter model calls into the ledger that no record of the turn will: they failed, or nobody is shown their answer.

  KEYS[1]  ledger of the day   hash
  KEYS[2]  ledger of the day before   hash
  KEYS[3]  run                 hash
  KEYS[4]  session ctl         hash
  KEYS[5]  for each budget two, from KEYS[5] on: what is spent and what is set aside   hashes

  ARGV[1]  run id
  ARGV[2]  lease of whoever made them
  ARGV[3]  what to book, JSON: calls, a list of {id, entry, amounts, usage}, and attempts, a list of {id, attempt}

  Returns  {"ok"}

  Invariant
    A call is booked once, by its id, whoever owns the run by now (rule 14); so is an attempt that was in vain.
]]
local first_budget = 5
local owns = redis.call("HGET", KEYS[4], "lease") == ARGV[2]
book(KEYS[1], KEYS[2], ARGV[3], ARGV[1], KEYS[3], owns, KEYS, first_budget)
return { "ok" }
