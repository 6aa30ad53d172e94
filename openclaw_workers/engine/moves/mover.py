"""The service worker's part in moves: it answers for files that its host has, and fetches those that it is to get."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import structlog

from openclaw_workers.domain.ids import new_token
from openclaw_workers.engine.moves.source import MoveSource
from openclaw_workers.engine.moves.target import MoveFailed, MoveTarget
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.errors import NotFound, StoreUnavailable
from openclaw_workers.store.moves import Move, Moves

log = structlog.get_logger(__name__)

LEASE_MS = 5_000
RENEW_SECONDS = 1.0
SILENCE_SECONDS = 5.0
"""After this long without an answer the question is asked again: whoever took it may have died."""
AGAIN_SECONDS = 2.0
NO_SOURCE = "no service worker that sees the old files answers"


class MoveEnded(Exception):
    """Somebody else ended the move, or goes on with it."""


class Mover:
    """One thread for each move that concerns this host. `noticed` is called with each tick, and does not wait."""

    def __init__(self, moves: Moves, places: HostPlaces, host: str) -> None:
        self._moves = moves
        self._places = places
        self._host = host
        self._threads: dict[str, threading.Thread] = {}
        self._next: dict[str, float] = {}
        self._stopped = threading.Event()

    def noticed(self, under_way: Mapping[str, str]) -> None:
        """`under_way`: agent -> move."""
        for move_id in under_way.values():
            thread, now = self._threads.get(move_id), time.monotonic()
            if (thread is None or not thread.is_alive()) and now >= self._next.get(move_id, 0.0):
                # A host that has no part in the move would otherwise start a thread with each tick.
                self._next[move_id] = now + AGAIN_SECONDS
                self._threads[move_id] = threading.Thread(
                    target=self._take_part, args=(move_id,), name="ocw-move", daemon=True
                )
                self._threads[move_id].start()
        for over in set(self._threads) - set(under_way.values()):
            del self._threads[over]
            self._next.pop(over, None)

    def stop(self) -> None:
        self._stopped.set()

    def _take_part(self, move_id: str) -> None:
        try:
            move = self._moves.get(move_id)
            if move.to_host == self._host:
                self._fetch(move)
            elif move.with_files and self._places.seen(move.agent_id) == move.from_place:
                self._answer(move)
        except (MoveEnded, NotFound):
            return
        except StoreUnavailable as error:
            log.debug("move.postponed", error=error.message)  # the next tick tries again
        except Exception:
            log.exception("move.failed", move=move_id)

    def _answer(self, move: Move) -> None:
        source, looked_at = MoveSource(self._places.directory(move.agent_id)), time.monotonic()
        while not self._stopped.is_set():
            question = self._moves.next_question(move.id)
            if question is not None:
                self._moves.reply(str(question["id"]), source.answer(question))
            if time.monotonic() - looked_at > RENEW_SECONDS:
                looked_at = time.monotonic()
                if self._moves.get(move.id).is_over:
                    return

    def _fetch(self, move: Move) -> None:
        carrier = _Carrier(self._moves, move, self._stopped)
        carrier.renew()
        workspace = self._places.directory(move.agent_id)
        target = MoveTarget(workspace, move.id, move.to_place, carrier.ask, carrier.progress)
        log.info("move.copying", agentId=move.agent_id, move=move.id, directory=str(workspace))
        try:
            if move.with_files:
                target.copy()
            kept = target.put_in_place()
        except MoveFailed as error:
            log.error("move.failed", agentId=move.agent_id, move=move.id, error=error.message)
            self._moves.end(move, "failed", error.message)
            return
        if kept is not None:
            self._moves.note(move, kept_at=str(kept))
        is_done = self._moves.end(move, "done")
        log.info("move.done" if is_done else "move.over", agentId=move.agent_id, move=move.id)


class _Carrier:
    """Holds the lease of a move while its files are fetched."""

    def __init__(self, moves: Moves, move: Move, stopped: threading.Event) -> None:
        self._moves = moves
        self._move = move
        self._stopped = stopped
        self._token = new_token()
        self._renewed_at = 0.0
        self._waits = ""

    def renew(self) -> None:
        """Raises:
        MoveEnded: another worker carries it out, or it is over, or this worker leaves.
        """
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return
        is_ours = not self._stopped.is_set() and self._moves.lease(self._move, self._token, LEASE_MS)
        if not is_ours or self._moves.get(self._move.id).is_over:
            raise MoveEnded
        self._renewed_at = time.monotonic()

    def progress(self, done: int, total: int, copied: int) -> None:
        is_due = time.monotonic() - self._renewed_at >= RENEW_SECONDS
        self.renew()
        if is_due or done == total:
            self._moves.note(self._move, files=total, files_done=done, bytes_done=copied)

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        while True:
            request, asked_at = self._moves.ask(self._move, operation, arguments), time.monotonic()
            while time.monotonic() - asked_at < SILENCE_SECONDS:
                self.renew()
                answer = self._moves.answer(request)
                if answer is not None:
                    self._say("")
                    return answer
            self._say(NO_SOURCE)

    def _say(self, waits: str) -> None:
        if waits != self._waits:
            self._waits = waits
            self._moves.note(self._move, waits=waits)
