"""Counts of this process. Counting costs an addition; `engine/metrics` exports the counts if a port is set."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counter:
    """A Prometheus counter: its name without `_total`, its help and the names of its labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    def add(self, *values: str, amount: float = 1) -> None:
        """Count, with a value for each label."""
        assert len(values) == len(self.labels), f"{self.name} has the labels {self.labels}"
        if amount:
            with _lock:
                _counts[self.name, *values] = _counts.get((self.name, *values), 0.0) + amount


TURNS = Counter("openclaw_turns", "Turns that ended.", ("lane", "state", "reason"))
TAKEOVERS = Counter("openclaw_lease_takeovers", "Turns taken over from a worker that died or was silent.", ("lane",))
FENCED = Counter("openclaw_fenced_writes", "Writes refused because another worker owned the session.", ("lane",))
FAILOVERS = Counter(
    "openclaw_failovers", "Calls that another model answered than the one asked for.", ("wanted", "answered")
)
TOKENS = Counter("openclaw_tokens", "Tokens of model calls.", ("model", "kind"))
COST = Counter("openclaw_cost_dollars", "Dollars for model calls, as far as prices are known.", ("model",))
DELIVERIES = Counter("openclaw_deliveries", "Parts of messages to chats, by how sending them ended.", ("state",))

COUNTERS = (TURNS, TAKEOVERS, FENCED, FAILOVERS, TOKENS, COST, DELIVERIES)

_lock = threading.Lock()
_counts: dict[tuple[str, ...], float] = {}


def take_counts() -> dict[tuple[str, ...], float]:
    """What was counted since the last call: name and values of the labels -> amount."""
    with _lock:
        taken = dict(_counts)
        _counts.clear()
    return taken


def give_back(counts: dict[tuple[str, ...], float]) -> None:
    """Counts that could not be stored are taken again next time."""
    with _lock:
        for series, amount in counts.items():
            _counts[series] = _counts.get(series, 0.0) + amount
