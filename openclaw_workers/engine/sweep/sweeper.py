"""The sweep: every worker looks for accepted work that nobody looks after, and puts it right. No leader, no beat."""

from __future__ import annotations

import threading
import time

import structlog

from openclaw_workers.domain.ids import BatchId, MessageId, SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane, lane_of
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.sessions.relay import AnswerRelay
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.wake import Waker, named, wake_all
from openclaw_workers.errors import BadInput, CorruptRecord, LeaseLost, StoreFull, StoreUnavailable
from openclaw_workers.store.keys import ARCHIVE, BATCH, CLEANUP, FORGET, ORPHAN, REAP, RELAY, TURN
from openclaw_workers.store.tree import reap_named

log = structlog.get_logger(__name__)

PRUNE_EVERY_SECONDS = 3600
ARCHIVE_AGAIN_MS = 30_000
ARCHIVING_SECONDS = 1.0
"""How long one sweep begins to write archives."""
CLEAN_UP_AGAIN_MS = 10_000


class Sweeper(threading.Thread):
    def __init__(
        self,
        stores: Stores,
        waker: Waker,
        runner: TurnRunner,
        announcer: Announcer,
        worker: WorkerId,
        *,
        archives: ArchiveWriter,
        period_seconds: float,
    ) -> None:
        super().__init__(name="ocw-sweeper", daemon=True)
        self._stores = stores
        self._waker = waker
        self._runner = runner
        self._announcer = announcer
        self._archives = archives
        self._control = Control(stores, waker, archives)
        self._relays = AnswerRelay(stores, waker)
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
        wait_ms, items = self._stores.due.claim(self._archives.place_id)
        oldest: dict[Lane, int] = {}
        begun = time.monotonic()
        # Files last: a session that waits must not wait for a slow disk too.
        for item in sorted(items, key=lambda item: item.startswith(ARCHIVE)):
            if item.startswith(ARCHIVE) and time.monotonic() - begun > ARCHIVING_SECONDS:
                break  # the rest is due again when this claim is over
            try:
                self._look_after(item, oldest)
            except (CorruptRecord, BadInput) as error:
                # The item stays due; a person finds the reason in the quarantine, the others are not kept waiting.
                log.error("sweep.unreadable", item=item, error=error.message)
                self._stores.reader.quarantine(item, error.message, "")
            except StoreFull as error:
                log.debug("sweep.postponed", item=item, error=error.message)  # it would bring new work; the others not
            except StoreUnavailable:
                raise
            except Exception:
                # One session or batch that cannot be swept must not keep the others from it, time and again.
                log.exception("sweep.failed", item=item)
        if time.monotonic() - self._pruned_at > PRUNE_EVERY_SECONDS:
            self._pruned_at = time.monotonic()
            self._stores.workers.prune()
        return self._period if wait_ms < 0 else max(0.02, wait_ms / 1000)

    def _look_after(self, item: str, oldest: dict[Lane, int]) -> None:
        if item.startswith(TURN):
            self._session(SessionKey(item.removeprefix(TURN)), oldest)
        elif item.startswith(ARCHIVE):
            self._archive(item)
        elif item.startswith(BATCH):
            self._announcer.announce(BatchId(item.removeprefix(BATCH)))
        elif item.startswith(REAP):
            self._control.reap(*reap_named(item.removeprefix(REAP)))
        elif item.startswith(RELAY):
            self._relays.pass_on(MessageId(item.removeprefix(RELAY)))
        elif item.startswith(ORPHAN):
            self._orphan(item, item.removeprefix(ORPHAN))
        elif item.startswith(FORGET):
            batch, _, session = item.removeprefix(FORGET).partition(" ")
            self._stores.tree.forget(BatchId(batch), SessionKey(session))
        elif item.startswith(CLEANUP):
            self._clean_up(item, SessionKey(item.removeprefix(CLEANUP)))
        else:
            log.warning("due.unknown", item=item)
            self._stores.due.done(item)

    def _clean_up(self, item: str, session: SessionKey) -> None:
        """Archive a child whose result is delivered, unless it or a child of its own has been spoken to since."""
        row = self._stores.reader.session(session)
        if row is not None:
            fresh_ms = row.updated_at + (row.archive_after_ms or 0) - self._stores.due.now_ms()
            tree = self._stores.tree
            waits = fresh_ms > 0 or any(map(tree.batch, tree.batches(session)))
            # Whoever speaks to it after this look finds it gone, or keeps it: never a turn that is cut off.
            if waits or not self._control.retire(session, unused_since=row.updated_at):
                self._stores.due.later(item, max(fresh_ms, CLEAN_UP_AGAIN_MS))
                return
        self._stores.due.done(item)

    def _orphan(self, item: str, orphan_id: str) -> None:
        """A model call whose run was taken away: while its owner lives, the owner is to book it."""
        try:
            orphan = self._stores.orphans.get(orphan_id)
        except CorruptRecord as error:
            self._stores.reader.quarantine(item, error.message, "")
            orphan = None
        if orphan is None:
            self._stores.orphans.forget(orphan_id)
        elif self._stores.workers.is_alive(WorkerId(orphan.owner)):
            self._stores.due.later(item, self._stores.timing.lease_ms)
        else:
            self._runner.settle_orphan(orphan)
            log.info("call.lost", worker=orphan.owner, **named(orphan.session, orphan.run))

    def _archive(self, item: str) -> None:
        try:
            self._archives.write(item.removeprefix(ARCHIVE))
        except OSError as error:
            log.error("archive.failed", item=item, error=str(error))
            self._stores.due.later(item, ARCHIVE_AGAIN_MS)

    def _oldest(self, lane: Lane, known: dict[Lane, int]) -> int:
        if lane not in known:
            known[lane] = self._waker.oldest_ms(lane)
        return known[lane]

    def _session(self, session: SessionKey, oldest: dict[Lane, int]) -> None:
        lane = lane_of(session)
        run, rescue = self._stores.leases.rescue(
            session,
            lane,
            self._worker,
            oldest_wake_ms=self._oldest(lane, oldest),
            cap=self._stores.caps.get(lane, 0),
            max_attempts=self._stores.settings.engine.max_attempts,
        )
        wake_all(self._waker, rescue.granted)
        if rescue.verb == "wake" and run is not None:
            log.info("run.woken", **named(session, run))
            self._waker.turn(session, run)
        elif rescue.lease is not None:
            try:
                self._runner.settle_lost(rescue.lease, rescue.losses, stood_still=rescue.stood_still)
            except LeaseLost:
                log.info("run.settled_elsewhere", **named(session, rescue.lease.run))
                self._runner.let_go(rescue.lease)
