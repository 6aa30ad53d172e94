"""Stop, reset and delete sessions from outside a turn, with everything they have spawned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.outgoing import Delivery
from openclaw_workers.domain.runs import Lane, RunState, lane_of
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.tree.report import partial_of
from openclaw_workers.engine.wake import Waker, wake_all, wake_run
from openclaw_workers.errors import CorruptRecord, NotFound, StoreUnavailable
from openclaw_workers.logger import get_logger
from openclaw_workers.store.inbox import Inbox, Stopped
from openclaw_workers.store.inter_session import InterSession
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import SessionEnded, Sessions
from openclaw_workers.store.tree import Tree

log = get_logger(__name__)


class Control:
    def __init__(
        self,
        *,
        inbox: Inbox,
        sessions: Sessions,
        reader: Reader,
        tree: Tree,
        exchanges: InterSession,
        caps: Mapping[Lane, int],
        waker: Waker,
        chats: ChatDelivery,
        archives: ArchiveWriter | None = None,
    ) -> None:
        """`archives` writes the archive of a session that is deleted here; without it the sweep does."""
        self._inbox = inbox
        self._sessions = sessions
        self._reader = reader
        self._tree = tree
        self._exchanges = exchanges
        self._caps = caps
        self._waker = waker
        self._chats = chats
        self._archives = archives

    def stop_session(
        self, session: SessionKey, *, reason: str = "killed", delivery: str = "", channel: str = ""
    ) -> Stopped:
        """Stop whatever the session is doing now and all it has spawned, and cancel what waits in it.

        `delivery` is that of the message that orders it; if it comes again, it stops nothing more. `channel` is where
        that message came from: the answer there says what was stopped.
        """
        stopped = self._stop(session, None, reason, waiting=True, children=True, delivery=delivery, channel=channel)
        return self._with_children(stopped, None)

    def stop_turn(self, session: SessionKey, *, reason: str = "killed") -> Stopped:
        """Stop the session's current run, and cancel what waits; what earlier runs have spawned goes on."""
        stopped = self._stop(session, None, reason, waiting=True, children=False)
        return self._with_children(stopped, stopped.run) if stopped.run else stopped

    def stop_run(self, run_id: RunId, *, reason: str = "killed") -> Stopped:
        """Stop one run and what it has spawned, and only that; if it is over, what it has left at work.

        Raises:
            NotFound: there is no such run.
        """
        run = self._reader.run(run_id)
        if run is None:
            raise NotFound(f"no run {run_id}", hint="`ocw runs list` shows recent runs")
        stopped = self._stop(run.session_key, run_id, reason, waiting=False, children=False)
        return self._with_children(stopped, run_id)

    def reset(self, session: SessionKey) -> None:
        """Reset the session at once; a running turn ends with it."""
        self._end(session, self._sessions.reset, self._chats.of_reset(session))

    def delete(self, session: SessionKey) -> None:
        """Delete a session. Its archive is written at once, so that this frees memory although nobody sweeps."""
        self._write_archive(self._end(session, self._sessions.delete, self._chats.of_delete(session)))

    def retire(self, session: SessionKey, *, unused_since: int) -> bool:
        """Delete a session if nobody has used it since, and say whether it is gone."""
        lane = lane_of(session)
        cap = self._caps.get(lane, 0)
        ended = self._sessions.retire(session, lane, cap=cap, unused_since=unused_since)
        if ended is None:
            return not self._reader.row(session)
        self._ended(session, ended)
        self._write_archive(ended)
        return True

    def expire(self, session: SessionKey, *, unused_since: int) -> bool:
        """Reset a session by time if nobody has used it since, and say whether that is so. No chat is notified."""
        lane = lane_of(session)
        cap = self._caps.get(lane, 0)
        ended = self._sessions.expire(session, lane, cap=cap, unused_since=unused_since)
        if ended is None:
            return False
        self._ended(session, ended)
        return True

    def stop_children(self, session: SessionKey, run: RunId | None = None) -> None:
        """Carry out the order to stop children of a session, or of one run of it: first the waiting ones."""
        order = self._tree.stop_order(session, run)
        if order is None:
            return
        live, damaged = filter(order.is_for, self._tree.live(session, order.upto)), None
        # A child that waits would otherwise get the slot that a stopped one frees.
        for child in sorted(live, key=lambda run: run.state is RunState.RUNNING):
            try:
                # The whole session: all runs of a child belong to the run that spawned it.
                self._stop(child.session_key, None, order.reason, waiting=True, children=True)
            except CorruptRecord as error:
                damaged = error  # its siblings are stopped all the same
        if damaged is not None:
            raise damaged
        self._tree.children_stopped(session, order)

    def _end(self, session: SessionKey, end: Callable[..., SessionEnded | None], to_chat: Delivery) -> SessionEnded:
        lane, said = lane_of(session), partial(partial_of, self._reader, session)
        ended = end(session, lane, cap=self._caps.get(lane, 0), partial=said, to_chat=to_chat)
        if ended is None:
            raise NotFound(f"no session {session}", hint="`ocw sessions list` shows the sessions there are")
        self._ended(session, ended)
        return ended

    def _write_archive(self, ended: SessionEnded) -> None:
        try:
            if self._archives is not None:
                self._archives.write(ended.session_id)
        except (OSError, StoreUnavailable, CorruptRecord) as error:
            # All of it is still in Redis, and due.
            log.warning("archive.postponed", sessionId=ended.session_id, error=str(error))

    def _ended(self, session: SessionKey, ended: SessionEnded) -> None:
        wake_all(self._waker, ended.granted)
        self._exchanges.wake_waiters(session)
        self.stop_children(session)
        self._wake_chord(ended.settled)

    def _stop(
        self,
        session: SessionKey,
        run: RunId | None,
        reason: str,
        *,
        waiting: bool,
        children: bool,
        delivery: str = "",
        channel: str = "",
    ) -> Stopped:
        """Stop a run; `waiting`: cancel what waits behind it too; `children`: also what other runs have spawned."""
        lane = lane_of(session)
        stopped = self._inbox.stop(
            session,
            lane,
            run=run,
            reason=reason,
            cap=self._caps.get(lane, 0),
            with_waiting=waiting,
            with_all_children=children,
            partial=partial(partial_of, self._reader, session),
            delivery=delivery,
            to_chat=self._chats.of_stop(session, by_channel=channel),
        )
        if stopped.wake is not None:
            # Either nobody carries the run at this moment, and its next owner has to end it, or another run is next.
            # Ending it needs no files.
            self._waker.turn(session, stopped.wake, place="")
        wake_all(self._waker, stopped.granted)
        self._exchanges.wake_waiters(session)
        self.stop_children(session, None if children else run or stopped.run)
        self._wake_chord(stopped.run if stopped.settled else None)
        return stopped

    def _with_children(self, stopped: Stopped, run_id: RunId | None) -> Stopped:
        """Say how many children were stopped: all that were at work, or those of one run, which may be over itself."""
        children = [run for run in self._reader.some_runs(stopped.live) if run_id in (None, run.parent_run_id)]
        if stopped.run is None and children:
            begun = any(not run.state.is_final for run in children)
            return replace(stopped, run=run_id, begun=begun, children=len(children))
        return replace(stopped, children=len(children))

    def _wake_chord(self, settled: RunId | None) -> None:
        """Rule 4: whoever settles a child from outside has its chord count it."""
        run = self._reader.run(settled) if settled else None
        if run is not None:
            wake_run(self._waker, run)
