"""Python imports this at start in a worker with this directory on its path. Its ticker then never sees a lost lease.

Usually the ticker quickly stops a turn whose lease is lost. The promises rest on the lease checks of the scripts alone,
so tests of those checks switch the ticker's help off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.store.leases import Leases, Ticked
from openclaw_workers.store.turn_records import Lease

_tick = Leases.tick


def _report_no_loss(
    self: Leases, worker: WorkerId, facts: dict[str, str], leases: Sequence[Lease], *more: Any, **named: Any
) -> Ticked:
    ticked = _tick(self, worker, facts, leases, *more, **named)
    return replace(ticked, verdicts=["ok"] * len(ticked.verdicts))


Leases.tick = _report_no_loss  # type: ignore[method-assign]
