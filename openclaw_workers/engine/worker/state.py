"""The runs of one worker process, and what its threads share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.ids import RunId
from openclaw_workers.engine.worker.shutdown import Shutdown
from openclaw_workers.engine.worker.suspects import Suspects
from openclaw_workers.errors import TurnHandedOver, TurnTimedOut
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.turn_records import Lease

STEP_SLACK_SECONDS = 15.0
"""A step that is this much over its time is stuck: nothing it waits for looks at the cancel flag."""

IDLE_SPARE_SECONDS = 2.0
"""An idle pool child that has not exited is ended this long before the grace is over."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class RunActivity:
    """What a run that calls models needs from the ticker."""

    unrecorded: Callable[[], LedgerEntries] = lambda: NO_ENTRIES
    """Model calls that are not in the ledger yet."""
    show: Callable[[], None] = _nothing
    """Sends viewers what has gathered for them."""
    renew_reservation: Callable[[], None] = _nothing
    """Keeps what its model call has taken from rate limits and budgets; may raise StoreUnavailable."""


class RunHandle:
    """One run in this process, as the ticker sees it."""

    def __init__(self, lease: Lease, *, seconds_left: float) -> None:
        self.lease = lease
        self.cancel = Cancel()
        now = time.monotonic()
        self.deadline = now + seconds_left
        self._step_until = self.deadline + STEP_SLACK_SECONDS
        self.activity = RunActivity()

    def begin(self, activity: RunActivity) -> None:
        """The run is prepared and starts to call models. Its lease is renewed already while it is being prepared."""
        self.activity = activity

    def allow(self, seconds: float) -> None:
        self._step_until = min(time.monotonic() + seconds, self.deadline) + STEP_SLACK_SECONDS

    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def is_stuck(self, now: float) -> bool:
        return now > self._step_until

    def forgive(self, seconds: float) -> None:
        """Do not count time in which Redis was away against a step: it may have waited for Redis."""
        self._step_until += seconds

    def expire(self, now: float) -> None:
        if now >= self.deadline:
            self.cancel.set(TurnTimedOut("the turn ran past its time limit"))


class WorkerState:
    """Shared by the threads of one worker process."""

    def __init__(self, *, grace_seconds: float, has_parent: bool = False) -> None:
        self.has_parent = has_parent
        """It is a pool child, and its parent must exit after it within the same grace."""
        self.shutdown = Shutdown(grace_seconds)
        self.suspects = Suspects()
        self._lock = threading.Lock()
        self._runs: dict[RunId, RunHandle] = {}
        self._last_carried = 0.0

    @contextmanager
    def carrying(self, handle: RunHandle) -> Iterator[None]:
        with self._lock:
            self._runs[handle.lease.run] = handle
        # A parked run is woken when its time is over, and a lost one may be found after it: no model call is made then.
        handle.expire(time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                # A run lost to a pause may be back in this process, in another thread, under another lease.
                if self._runs.get(handle.lease.run) is handle:
                    del self._runs[handle.lease.run]
                self._last_carried = time.monotonic()

    def runs(self) -> list[RunHandle]:
        with self._lock:
            return list(self._runs.values())

    def is_overdue(self) -> bool:
        """Whether it should be gone; an idle child of a pool a little early, so that its parent follows in time."""
        is_idle = not self.runs() and time.monotonic() - self._last_carried > IDLE_SPARE_SECONDS
        is_early = self.has_parent and is_idle
        spare = min(IDLE_SPARE_SECONDS, self.shutdown.grace_seconds / 4) if is_early else 0
        return self.shutdown.grace_left() < spare

    def enforce(self) -> None:
        """Time out what ran too long, and abandon model calls that outlast the grace."""
        now, cuts_short = time.monotonic(), self.shutdown.cuts_short()
        for handle in self.runs():
            handle.expire(now)
            if cuts_short:
                handle.cancel.set(TurnHandedOver("this worker is leaving"))
