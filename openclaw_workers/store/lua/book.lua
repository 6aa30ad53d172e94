--[[
  Enter model calls into the ledger that no record of the turn will: they failed, or nobody is shown their answer.

  includes  fence, ledger

  keys
    ledger         hash    ledger of the day
    ledger_before  hash    ledger of the day before
    run_key        hash    run
    ctl            hash    session ctl
    budgets…       hashes  for each budget two: what is spent, and what is reserved
  args
    run             text  run id
    lease           text  lease of whoever made them
    ledger_entries  json  what to book, JSON: calls, a list of {id, entry, amounts, usage}, and attempts, a list of {id,
                          attempt}

  Returns  {"ok"}

  Invariant
    A call is booked once, by its id, whoever owns the run by now (rule 14); so is an attempt that was in vain.
]]
local owns = check_lease(ctl, lease)
book(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)
return { "ok" }
