"""The sweep: every worker looks for accepted work that nobody looks after, and puts it right. No leader, no beat."""

from __future__ import annotations

import threading
import time

import structlog

from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.turns import TurnRunner
from openclaw_workers.engine.wake import Waker, lane_of, wake_all
from openclaw_workers.errors import BadInput, CorruptRecord, LeaseLost, StoreUnavailable
from openclaw_workers.models.ids import SessionKey, WorkerId
from openclaw_workers.models.runs import Lane
from openclaw_workers.store.keys import ARCHIVE, TURN

log = structlog.get_logger(__name__)

PRUNE_EVERY_SECONDS = 3600
ARCHIVE_AGAIN_MS = 30_000


class Sweeper(threading.Thread):
    def __init__(
        self, stores: Stores, waker: Waker, runner: TurnRunner, worker: WorkerId, *, period_seconds: float
    ) -> None:
        super().__init__(name="ocw-sweeper", daemon=True)
        self._stores = stores
        self._waker = waker
        self._runner = runner
        self._worker = worker
        self._period = period_seconds
        self._poke = threading.Event()
        self._stopped = False
        self._pruned_at = time.monotonic()

    def run(self) -> None:
        while not self._stopped:
            wait = self._period
            try:
                wait = self.sweep()
            except StoreUnavailable as error:
                log.debug("sweep.postponed", error=error.message)
            except Exception:
                # A session that cannot be swept must not keep the others from it.
                log.exception("sweep.failed")
            self._poke.wait(min(wait, self._period))
            self._poke.clear()

    def stop(self) -> None:
        self._stopped = True
        self._poke.set()

    def poke(self) -> None:
        """Something will be due sooner than planned."""
        self._poke.set()

    def sweep(self) -> float:
        """Look after what is due; returns the seconds until something else will be."""
        wait_ms, items = self._stores.fleet.due()
        oldest: dict[Lane, int] = {}
        for item in items:
            try:
                self._look_after(item, oldest)
            except (CorruptRecord, BadInput) as error:
                # The item stays due; a person finds the reason in the quarantine, the others are not kept waiting.
                log.error("sweep.unreadable", item=item, error=error.message)
                self._stores.reader.quarantine(item, error.message, "")
        if time.monotonic() - self._pruned_at > PRUNE_EVERY_SECONDS:
            self._pruned_at = time.monotonic()
            self._stores.fleet.prune(int(time.time() * 1000))
        return self._period if wait_ms < 0 else max(0.02, wait_ms / 1000)

    def _look_after(self, item: str, oldest: dict[Lane, int]) -> None:
        if item.startswith(TURN):
            self._session(SessionKey(item.removeprefix(TURN)), oldest)
        elif item.startswith(ARCHIVE):
            self._archive(item, oldest)
        else:
            log.warning("due.unknown", item=item)
            self._stores.fleet.done(item)

    def _archive(self, item: str, oldest: dict[Lane, int]) -> None:
        if not self._oldest(Lane.SERVICE, oldest):
            self._waker.archive(item.removeprefix(ARCHIVE))
        self._stores.fleet.later(item, ARCHIVE_AGAIN_MS)

    def _oldest(self, lane: Lane, known: dict[Lane, int]) -> int:
        if lane not in known:
            known[lane] = self._waker.oldest_ms(lane)
        return known[lane]

    def _session(self, session: SessionKey, oldest: dict[Lane, int]) -> None:
        lane = lane_of(session)
        run, rescue = self._stores.fleet.rescue(
            session,
            lane,
            self._worker,
            oldest_wake_ms=self._oldest(lane, oldest),
            cap=self._stores.caps.get(lane, 0),
            max_attempts=self._stores.settings.engine.max_attempts,
        )
        wake_all(self._waker, rescue.granted)
        if rescue.verb == "wake" and run is not None:
            log.info("run.woken", run_id=run, session_key=session)
            self._waker.turn(session, run)
        elif rescue.lease is not None:
            try:
                self._runner.settle_lost(rescue.lease)
            except LeaseLost:
                log.info("run.settled_elsewhere", run_id=run, session_key=session)
