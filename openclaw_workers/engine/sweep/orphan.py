"""A model call whose run was taken away from its owner."""

from __future__ import annotations

import structlog

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.wake import named
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import ORPHAN
from openclaw_workers.store.llm.lost_calls import Orphans
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.workers import Workers

log = structlog.get_logger(__name__)


class DueOrphans:
    """Records the call for an owner that died. An owner that lives records it itself, so this waits."""

    def __init__(
        self, orphans: Orphans, due: DueItems, workers: Workers, reader: Reader, runner: TurnRunner, *, lease_ms: int
    ) -> None:
        self._orphans = orphans
        self._due = due
        self._workers = workers
        self._reader = reader
        self._runner = runner
        self._lease_ms = lease_ms

    def handle(self, orphan_id: str) -> None:
        item = f"{ORPHAN}{orphan_id}"
        try:
            orphan = self._orphans.get(orphan_id)
        except CorruptRecord as error:
            self._reader.quarantine(item, error.message, "")
            orphan = None
        if orphan is None:
            self._orphans.forget(orphan_id)
        elif self._workers.is_alive(WorkerId(orphan.owner)):
            self._due.later(item, self._lease_ms)
        else:
            self._runner.settle_orphan(orphan)
            log.info("call.lost", worker=orphan.owner, **named(orphan.session, orphan.run))
