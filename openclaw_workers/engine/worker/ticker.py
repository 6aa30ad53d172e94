"""One thread per worker process: renews all its leases every second, and passes on stop and drain (rule 8)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.wake import named
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.engine.worker.state import RunHandle, WorkerState
from openclaw_workers.errors import CorruptRecord, LeaseLost, StoreUnavailable, TurnAborted
from openclaw_workers.store.leases import Leases

log = structlog.get_logger(__name__)

LAST_TICK_SECONDS = 1.0
"""How long a worker that leaves waits for a tick that Redis does not answer."""

Facts = Callable[[], dict[str, str]]


class Ticker(threading.Thread):
    def __init__(
        self,
        leases: Leases,
        process: WorkerState,
        worker: WorkerId,
        facts: Facts,
        *,
        asked_to_leave: Callable[[], bool] = lambda: False,
        on_drained: Callable[[bool], None] = lambda _: None,
        secrets: Callable[[], Sequence[str]] = tuple,
        on_config: Callable[[str, frozenset[str]], None] = lambda _version, _held: None,
        places: HostPlaces | None = None,
        takes_turns: Callable[[], bool] = lambda: True,
        on_places: Callable[[Sequence[str]], None] = lambda _: None,
        on_moves: Callable[[Mapping[str, str]], None] = lambda _: None,
        on_stuck: Callable[[], None],
        on_overdue: Callable[[], None],
        period_seconds: float = 1.0,
    ) -> None:
        """`on_config` gets the configuration in force and the secrets that live workers have, `secrets` names ours.

        `takes_turns`: whether this worker runs turns of the agents whose `places` this host sees. `on_places` gets the
        places with a queue of their own that it sees, `on_moves` the moves that are under way.
        """
        super().__init__(name="ocw-ticker", daemon=True)
        self._leases = leases
        self._process = process
        self._worker = worker
        self._facts = facts
        self._asked_to_leave = asked_to_leave
        self._on_drained = on_drained
        self._is_drained = False
        self._secrets = secrets
        self._on_config = on_config
        self._places = places or HostPlaces({})
        self._takes_turns = takes_turns
        self._on_places = on_places
        self._on_moves = on_moves
        self._on_stuck = on_stuck
        self._on_overdue = on_overdue
        self._period = period_seconds
        self._over = threading.Event()
        self._away_since: float | None = None
        self._is_full = False
        self._said_leaving = False
        self._saying = threading.Lock()

    def run(self) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            try:
                self.tick()
            except Exception:
                # The one thread that must not die: without it every lease of this process runs out.
                log.exception("tick.failed")
            self._over.wait(max(0.05, self._period - (time.monotonic() - begun)))

    def stop(self) -> None:
        self._over.set()
        # A worker without turns may be gone before its next tick.
        self._notice_leaving()
        if self.is_alive():
            # A tick under way would enter the worker again after it has left.
            self.join(LAST_TICK_SECONDS)

    def tick(self) -> None:
        self._notice_leaving()
        self._process.enforce()
        now = time.monotonic()
        carried = self._process.runs()
        # While Redis is away every write waits for it, so nobody is judged.
        stuck = [handle for handle in carried if self._away_since is None and handle.is_stuck(now)]
        healthy = [handle for handle in carried if handle not in stuck]
        self._renew(healthy)
        if stuck:
            self._give_up(stuck, healthy)
        elif self._process.is_overdue():
            self._on_overdue()

    def _notice_leaving(self) -> None:
        """Log it here: the signal handler that began it may have interrupted a thread that is logging."""
        if self._asked_to_leave():
            self._process.shutdown.begin()
        with self._saying:
            if self._process.shutdown.has_begun and not self._said_leaving:
                self._said_leaving = True
                log.info("worker.leaving", worker=self._worker, runs=len(self._process.runs()))

    def _renew(self, handles: list[RunHandle]) -> None:
        try:
            leases = [handle.lease for handle in handles]
            ticked = self._leases.tick(
                self._worker,
                self._facts(),
                leases,
                self._secrets(),
                self._places.all(),
                # A worker that leaves must not count as one that can still serve the place.
                takes_turns=self._takes_turns() and not self._process.shutdown.has_begun,
            )
        except StoreUnavailable as error:
            if self._away_since is None:
                self._away_since = time.monotonic()
                log.warning("store.disconnected", error=error.message)
            return
        if self._away_since is not None:
            away = time.monotonic() - self._away_since
            log.info("store.reconnected", away_seconds=round(away, 1))
            self._away_since = None
            for handle in self._process.runs():
                handle.forgive(away)
        self._notice_memory(ticked.full_percent)
        self._places.noticed(ticked.routes)
        self._on_places(self._places.with_queue())
        self._on_moves(ticked.moves)
        self._on_config(ticked.config, ticked.secrets_held)
        self._notice_drained(ticked.is_drained)
        for handle, verdict in zip(handles, ticked.verdicts, strict=True):
            if verdict == "lost":
                # The turn itself would notice only at its next write, after a model call that nobody needs.
                handle.cancel.set(LeaseLost(f"{handle.lease.session} is owned by another worker now"))
            elif verdict != "ok":
                handle.cancel.set(TurnAborted(verdict))
        for handle in handles:
            handle.activity.show()
        self._hold([handle for handle, verdict in zip(handles, ticked.verdicts, strict=True) if verdict != "lost"])

    def _notice_drained(self, is_drained: bool) -> None:
        if is_drained == self._is_drained:
            return
        self._is_drained = is_drained
        self._process.shutdown.set_drained(is_drained)
        self._on_drained(is_drained)
        log.info("worker.drained" if is_drained else "worker.undrained", worker=self._worker)

    def _notice_memory(self, full_percent: int) -> None:
        """Log once that new work is refused, and once that it is accepted again."""
        if bool(full_percent) == self._is_full:
            return
        self._is_full = bool(full_percent)
        if self._is_full:
            advice = "new messages and sub-agents are refused; delete sessions, or raise maxmemory"
            log.warning("store.nearly_full", percent=full_percent, advice=advice)
        else:
            log.info("store.has_room")

    def _hold(self, handles: list[RunHandle]) -> None:
        for handle in handles:
            try:
                handle.activity.renew_reservation()
            except StoreUnavailable as error:
                # The others would wait for Redis as long; leases come first.
                log.warning("rate_limit.renew_failed", error=error.message)
                return
            except CorruptRecord as error:
                log.error(
                    "rate_limit.renew_failed", error=error.message, **named(handle.lease.session, handle.lease.run)
                )

    def _give_up(self, stuck: list[RunHandle], healthy: list[RunHandle]) -> None:
        """Stuck threads cannot be ended from outside: stop renewing them, hand over the others, end the process."""
        if not self._process.shutdown.has_begun:
            log.error("run.stuck", runs=[handle.lease.run for handle in stuck])
            self._process.shutdown.begin_stuck()
        if not healthy or self._process.shutdown.grace_left() <= 0:
            self._on_stuck()
