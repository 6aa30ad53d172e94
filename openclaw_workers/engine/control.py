"""Acting on sessions from outside a turn: stop, reset, delete. Each names exactly what it hits, and its subtree."""

from __future__ import annotations

from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.wake import Waker, lane_of, wake_all, wake_run
from openclaw_workers.errors import CorruptRecord, NotFound
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.runs import RunState
from openclaw_workers.store.inbox import Stopped
from openclaw_workers.store.sessions import Ended


class Control:
    def __init__(self, stores: Stores, waker: Waker) -> None:
        self._stores = stores
        self._waker = waker

    def stop_session(self, session: SessionKey, *, reason: str = "killed") -> Stopped:
        """Stop whatever the session is doing now, and cancel what waits in it."""
        return self._stop(session, None, reason, with_waiting=True)

    def stop_run(self, run_id: RunId, *, reason: str = "killed") -> Stopped:
        """Stop one run, and only that one.

        Raises:
            NotFound: there is no such run.
        """
        run = self._stores.reader.run(run_id)
        if run is None:
            raise NotFound(f"no run {run_id}", hint="`ocw runs list` shows recent runs")
        return self._stop(run.session_key, run_id, reason, with_waiting=False)

    def reset(self, session: SessionKey) -> None:
        """Begin a new life of the session at once; a turn in flight ends with it."""
        lane = lane_of(session)
        self._end(session, self._stores.sessions.reset(session, lane, cap=self._stores.caps.get(lane, 0)))

    def delete(self, session: SessionKey) -> None:
        lane = lane_of(session)
        self._end(session, self._stores.sessions.delete(session, lane, cap=self._stores.caps.get(lane, 0)))

    def reap(self, session: SessionKey) -> None:
        """Stop the children that a session is to lose: those still waiting first, then those at work."""
        order = self._stores.tree.reap(session)
        if order is None:
            return
        live, damaged = self._stores.tree.live(session, order.upto), None
        for child in sorted(live, key=lambda run: run.state is RunState.RUNNING):
            try:
                self._stop(child.session_key, None, order.reason, with_waiting=True)
            except CorruptRecord as error:
                damaged = error  # its siblings are stopped all the same
        if damaged is not None:
            raise damaged
        self._stores.tree.reaped(session, order)

    def _end(self, session: SessionKey, ended: Ended | None) -> None:
        if ended is None:
            raise NotFound(f"no session {session}", hint="`ocw sessions list` shows the sessions there are")
        wake_all(self._waker, ended.granted)
        self._stores.exchanges.wake_waiters(session)
        self.reap(session)
        self._tell_batch(ended.settled)

    def _stop(self, session: SessionKey, run: RunId | None, reason: str, *, with_waiting: bool) -> Stopped:
        lane = lane_of(session)
        stopped = self._stores.inbox.stop(
            session, lane, run=run, reason=reason, cap=self._stores.caps.get(lane, 0), with_waiting=with_waiting
        )
        if stopped.wake is not None:
            # Either nobody carries the run at this moment, and its next owner has to end it, or another run is next.
            self._waker.turn(session, stopped.wake)
        wake_all(self._waker, stopped.granted)
        self._stores.exchanges.wake_waiters(session)
        self.reap(session)
        self._tell_batch(stopped.run if stopped.settled else None)
        return stopped

    def _tell_batch(self, settled: RunId | None) -> None:
        """Rule 4: whoever settles a child from outside has its chord count it."""
        run = self._stores.reader.run(settled) if settled else None
        if run is not None:
            wake_run(self._waker, run)
