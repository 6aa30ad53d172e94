"""A model call whose run was taken away from its owner."""

from __future__ import annotations

import structlog

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.wake import named
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import LOST_CALL
from openclaw_workers.store.llm.lost_model_calls import LostCallRecords
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.workers import Workers

log = structlog.get_logger(__name__)


class DueLostCalls:
    """Records the call for an owner that died. An owner that lives records it itself, so this waits."""

    def __init__(
        self,
        records: LostCallRecords,
        due: DueItems,
        workers: Workers,
        reader: Reader,
        runner: TurnRunner,
        *,
        lease_ms: int,
    ) -> None:
        self._records = records
        self._due = due
        self._workers = workers
        self._reader = reader
        self._runner = runner
        self._lease_ms = lease_ms

    def handle(self, call_id: str) -> None:
        item = f"{LOST_CALL}{call_id}"
        try:
            lost_call = self._records.get(call_id)
        except CorruptRecord as error:
            self._reader.quarantine(item, error.message, "")
            lost_call = None
        if lost_call is None:
            self._records.forget(call_id)
        elif self._workers.is_alive(WorkerId(lost_call.owner)):
            self._due.later(item, self._lease_ms)
        else:
            self._runner.settle_lost_call(lost_call)
            log.info("call.lost", worker=lost_call.owner, **named(lost_call.session, lost_call.run))
