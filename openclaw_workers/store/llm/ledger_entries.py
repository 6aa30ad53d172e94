"""What the scripts that journal a turn enter into the ledger with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ledger import ModelCall, day_of
from openclaw_workers.domain.runs import ModelAttempt
from openclaw_workers.domain.stored_json import model_json, to_json, versioned
from openclaw_workers.store.keys import Keys

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class LedgerEntries:
    """Model calls to enter into the ledger, the budgets they count against, and attempts for the run record."""

    calls: Sequence[ModelCall] = ()
    budgets: Sequence[str] = ()
    attempts: Sequence[ModelAttempt] = ()

    def ledger_keys(self, k: Keys) -> dict[str, str]:
        """The ledger of the day, and that of the day before: somebody may have entered a call before midnight."""
        at = self.calls[0].at if self.calls else now_ms()
        return {"ledger": k.ledger(day_of(at)), "ledger_before": k.ledger(day_of(at - DAY_MS))}

    def budget_keys(self, k: Keys) -> list[str]:
        return [key for name in self.budgets for key in k.budget(name)]

    def entries(self) -> str:
        calls = [_entry(call) for call in self.calls]
        attempts = [[attempt.id, versioned(model_json(attempt))] for attempt in self.attempts]
        return to_json({"calls": calls, "attempts": attempts}) if calls or attempts else NOTHING_TO_BOOK


def _entry(call: ModelCall) -> list[Any]:
    return [call.id, versioned(model_json(call)), call.amounts(), call.usage.model_dump(by_alias=True)]


NO_ENTRIES, NOTHING_TO_BOOK = LedgerEntries(), '{"calls":[],"attempts":[]}'
