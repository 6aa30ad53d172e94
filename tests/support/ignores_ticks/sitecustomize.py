"""Python imports this at start in a worker that has this directory on its path: its ticker hears nothing.

A ticker usually tells a turn within a moment that its lease is lost. That is a courtesy: where a promise rests on
the lease checks of the scripts alone, this takes the courtesy away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.store.fleet import Fleet, Ticked
from openclaw_workers.store.turns import Lease

_tick = Fleet.tick


def _hear_nothing(self: Fleet, worker: WorkerId, facts: dict[str, str], leases: Sequence[Lease]) -> Ticked:
    told = _tick(self, worker, facts, leases)
    return replace(told, verdicts=["ok"] * len(told.verdicts))


Fleet.tick = _hear_nothing  # type: ignore[method-assign]
