"""A session whose lease expired, whose wake-up was lost, or whose debounce time is over."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from openclaw_workers.domain.ids import SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane, lane_of
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.wake import Waker, named, wake_all
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.leases import Leases

log = structlog.get_logger(__name__)


class DueTurns:
    """Wakes a session's run again, or ends it if too many workers died while running it."""

    def __init__(
        self,
        *,
        leases: Leases,
        waker: Waker,
        runner: TurnRunner,
        worker: WorkerId,
        caps: Mapping[Lane, int],
        max_attempts: int,
    ) -> None:
        self._leases = leases
        self._waker = waker
        self._runner = runner
        self._worker = worker
        self._caps = caps
        self._max_attempts = max_attempts
        self._oldest: dict[Lane, int] = {}

    def start_sweep(self) -> None:
        self._oldest = {}

    def handle(self, session_key: str) -> None:
        session = SessionKey(session_key)
        lane = lane_of(session)
        run, rescue = self._leases.rescue(
            session,
            lane,
            self._worker,
            oldest_wake_ms=self._oldest_wake_ms(lane),
            cap=self._caps.get(lane, 0),
            max_attempts=self._max_attempts,
        )
        wake_all(self._waker, rescue.granted)
        if rescue.verb == "wake" and run is not None:
            log.info("run.woken", **named(session, run))
            self._waker.turn(session, run)
        elif rescue.lease is not None:
            try:
                self._runner.settle_lost(rescue.lease, rescue.losses, stood_still=rescue.stood_still)
                if lane is not Lane.SUBAGENT:
                    # A worker finds the run ended and shows so; the header of a sub-agent's run was published again.
                    self._waker.turn(session, rescue.lease.run)
            except LeaseLost:
                log.info("run.settled_elsewhere", **named(session, rescue.lease.run))
                self._runner.drop(rescue.lease)

    def _oldest_wake_ms(self, lane: Lane) -> int:
        """Read once per sweep: hundreds of sessions of the same lane may be due together."""
        if lane not in self._oldest:
            self._oldest[lane] = self._waker.oldest_ms(lane)
        return self._oldest[lane]
