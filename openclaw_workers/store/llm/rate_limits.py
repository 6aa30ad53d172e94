"""Limits and budgets that the whole fleet shares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import structlog

from openclaw_workers.domain.ids import RunId
from openclaw_workers.store.client import Client, run_script
from openclaw_workers.store.keys import Keys

log = structlog.get_logger(__name__)

KEEP_MS = 15_000
"""How long what a call has taken outlives its owner."""
# A run in line that has not asked for this long is gone, and holds up nobody.
SILENT_MS = 5_000


@dataclass(frozen=True, slots=True)
class Limit:
    """What a provider, a key or a model may be asked for; 0 is no limit."""

    name: str
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    concurrent: int = 0

    def most(self) -> dict[str, int]:
        return {
            "requests": self.requests_per_minute,
            "tokens": self.tokens_per_minute,
            "concurrent": self.concurrent,
        }


@dataclass(frozen=True, slots=True)
class Amounts:
    tokens: float = 0
    cost: float = 0
    calls: float = 0
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be spent under a name; None is no limit."""

    name: str
    tokens: float | None = None
    cost: float | None = None
    calls: float | None = None
    seconds: float | None = None

    def limits(self) -> dict[str, float]:
        return {what: limit for what, limit in asdict(self).items() if what != "name" and limit is not None}


@dataclass(frozen=True, slots=True)
class Exhausted:
    budget: Budget
    what: str
    spent: float
    limit: float


class RateLimits:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def ask(self, limits: Sequence[Limit], run: RunId, call: str, tokens: int) -> int:
        """Ask for a place in all of them; 0 when it is given, else the milliseconds after which to ask again."""
        reply = self._limit("ask", limits, run, call, tokens)
        return 0 if reply[0] == "go" else int(reply[1])

    def done(self, limits: Sequence[Limit], run: RunId, call: str) -> None:
        """The call is over, or is not made after all."""
        self._limit("done", limits, run, call, 0)

    def renew_reservation(
        self, run: RunId, call: str, limits: Sequence[Limit], budgets: Sequence[Budget], lasted: float = 0.0
    ) -> Exhausted | float:
        """The call goes on, so many seconds by now: keep what it has taken.

        Returns how many seconds it may go on for, as far as is known now; or that the time of a budget is used up.
        """
        k = self._keys
        held = [key for limit in limits for key in (k.working(limit.name), k.asked(limit.name))]
        reply = run_script(
            self._redis,
            "renew_reservation",
            args={
                "run": run,
                "call": call,
                "keep_ms": KEEP_MS,
                "limits": len(limits),
                "lasted_ms": int(lasted * 1000),
            },
            more_keys=held + self._budget_keys(budgets),
            more_args=[budget.seconds or 0 for budget in budgets],
        )
        if reply[0] == "over":
            _, number, spent, limit = reply
            return Exhausted(budgets[int(number) - 1], "seconds", float(spent), float(limit))
        return float("inf") if int(reply[1]) < 0 else int(reply[1]) / 1000

    def reserve(self, run: RunId, call: str, amounts: Amounts, budgets: Sequence[Budget]) -> Exhausted | bool:
        """Reserve what a call may cost; False when others have reserved the rest and it is worth asking again."""
        reply = run_script(
            self._redis,
            "reserve",
            args={"run": run, "wanted": json.dumps({"call": call, "keep_ms": KEEP_MS, **asdict(amounts)})},
            more_keys=self._budget_keys(budgets),
            more_args=[json.dumps(budget.limits()) for budget in budgets],
        )
        if int(reply[1]):
            # The script removed damaged values. The budget counts on without them, instead of failing every turn.
            log.warning("budget.unreadable", budgets=[budget.name for budget in budgets], count=int(reply[1]))
        if reply[0] == "over":
            _, _, number, what, spent, limit = reply
            return Exhausted(budgets[int(number) - 1], what, float(spent), float(limit))
        return bool(reply[0] == "go")

    def _limit(
        self, verb: Literal["ask", "done"], limits: Sequence[Limit], run: RunId, call: str, tokens: int
    ) -> list[str]:
        k = self._keys
        return run_script(
            self._redis,
            "limit",
            args={
                "verb": verb,
                "run": run,
                "tokens": tokens,
                "keep_ms": KEEP_MS,
                "silent_ms": SILENT_MS,
                "call": call,
            },
            more_keys=[key for limit in limits for key in _limit_keys(k, limit.name)],
            more_args=[json.dumps(limit.most()) for limit in limits],
        )

    def _budget_keys(self, budgets: Sequence[Budget]) -> list[str]:
        return [key for budget in budgets for key in self._keys.budget(budget.name)]


def _limit_keys(k: Keys, name: str) -> tuple[str, str, str, str]:
    return k.recent(name), k.working(name), k.waiting(name), k.asked(name)
