"""A session whose lease expired, whose wake-up was lost, or whose debounce time is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from openclaw_workers.domain.ids import SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane, lane_of, queue_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.delivery.chats import ChatDelivery
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
        is_placed: Callable[[str], bool],
        chats: ChatDelivery,
    ) -> None:
        """`is_placed` says of an agent whether its turns run only where its files are."""
        self._leases = leases
        self._waker = waker
        self._runner = runner
        self._worker = worker
        self._caps = caps
        self._max_attempts = max_attempts
        self._is_placed = is_placed
        self._chats = chats
        self._oldest: dict[tuple[Lane, str], int] = {}

    def start_sweep(self) -> None:
        self._oldest = {}

    def handle(self, session_key: str) -> None:
        session = SessionKey(session_key)
        lane = lane_of(session)
        run, recovery = self._leases.recover(
            session,
            lane,
            self._worker,
            oldest_wake_ms=self._oldest_wake_ms(session, lane),
            cap=self._caps.get(lane, 0),
            max_attempts=self._max_attempts,
            is_placed=self._is_placed(agent_of(session)),
            delivery=self._chats.of_waiting(session),
        )
        wake_all(self._waker, recovery.granted)
        if recovery.verb in ("wake", "end") and run is not None:
            log.info("run.woken", **named(session, run))
            # Ending a stopped run needs no files, so any worker may do it.
            self._waker.turn(session, run, place="" if recovery.verb == "end" else None)
        elif recovery.lease is not None:
            try:
                self._runner.settle_lost(recovery.lease, recovery.losses, stood_still=recovery.stood_still)
                if lane is not Lane.SUBAGENT:
                    # A worker finds the run ended and shows so; the header of a sub-agent's run was published again.
                    self._waker.turn(session, recovery.lease.run)
            except LeaseLost:
                log.info("run.settled_elsewhere", **named(session, recovery.lease.run))
                self._runner.drop(recovery.lease)

    def _oldest_wake_ms(self, session: SessionKey, lane: Lane) -> int:
        """Read once per sweep and queue: hundreds of sessions of the same agent may be due together."""
        queue = (queue_of(lane), agent_of(session))
        if queue not in self._oldest:
            self._oldest[queue] = self._waker.oldest_ms(session)
        return self._oldest[queue]
