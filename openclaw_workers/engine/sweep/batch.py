"""A batch of sub-agents that has settled and is not announced yet."""

from __future__ import annotations

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.engine.tree.announce import Announcer


class DueBatches:
    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer

    def handle(self, batch_id: str) -> None:
        self._announcer.announce(BatchId(batch_id))
