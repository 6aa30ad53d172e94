"""What a worker reports of itself."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.domain.ids import WorkerId


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    id: WorkerId
    alive: bool
    beat_at: int
    facts: dict[str, str]
