"""Reading the ledger. It is written by the scripts that journal a turn, with the step each call belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys

KEPT_DAYS = 90


@dataclass(slots=True)
class Total:
    name: str
    calls: int = 0
    failed: int = 0
    estimated: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    unpriced: int = 0
    """Calls of models whose price is not known."""
    milliseconds: int = 0

    def add(self, call: ModelCall) -> None:
        self.calls += 1
        self.failed += call.outcome != "ok"
        self.estimated += call.estimated
        self.input += call.usage.input
        self.output += call.usage.output
        self.cache_read += call.usage.cache_read
        self.cache_write += call.usage.cache_write
        self.cost += call.cost
        self.unpriced += not call.is_priced
        self.milliseconds += call.milliseconds


class Ledger:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def calls(self, days: int = 1) -> Iterator[ModelCall]:
        """The calls of the last days, today (UTC) included. An unreadable entry is left out."""
        today = datetime.now(UTC).date()
        for back in range(min(days, KEPT_DAYS) - 1, -1, -1):
            yield from self._day(self._keys.ledger(str(today - timedelta(days=back))))

    def spent(self, budget: str) -> dict[str, float]:
        """What was spent of a budget: tokens, cost, calls, seconds."""
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.spent(budget))
        return {name: float(value or 0) for name, value in raw.items()}

    def _day(self, key: str) -> Iterator[ModelCall]:
        """In pieces: a busy day in one would hold Redis up."""
        cursor, seen = 0, set[str]()
        while True:
            with store_errors():
                reply: Any = self._redis.hscan(key, cursor, count=1000)
            cursor, found = int(reply[0]), reply[1]
            for call_id, raw in found.items():
                # HSCAN may return an entry twice.
                if call_id in seen:
                    continue
                seen.add(call_id)
                try:
                    yield ModelCall.model_validate_json(raw)
                except ValidationError:
                    continue
            if cursor == 0:
                return


def totals(calls: Iterable[ModelCall], name_of: Callable[[ModelCall], str]) -> list[Total]:
    """Sums of the calls with the same name, the dearest first."""
    sums: dict[str, Total] = {}
    for call in calls:
        name = name_of(call)
        sums.setdefault(name, Total(name)).add(call)
    return sorted(sums.values(), key=lambda total: (-total.cost, -total.input - total.output, total.name))
