--[[
  Enter model calls into the ledger that no step will record: they failed, or nobody is shown their answer.

  includes  fence, reservations, ledger

  keys
    ledger         hash    ledger of the day
    ledger_before  hash    ledger of the day before
    run_key        hash    run record
    ctl            hash    session control record
    budget_keys…   keys    for each budget four: spent, reserved, ends, sums
  args
    run             text  run id
    lease           text  lease of whoever made them
    ledger_entries  json  calls {id, entry, amounts, usage} and attempts {id, attempt} to record

  Returns  {"ok"}

  Invariant
    A call is recorded once, by its id, whoever owns the run by now (rule 14). So is a failed attempt.
]]
local owns = check_lease(ctl, lease)
local budgets = budgets_from(budget_keys)
record_calls(ledger, ledger_before, ledger_entries, run, run_key, owns, budgets)
return { "ok" }
