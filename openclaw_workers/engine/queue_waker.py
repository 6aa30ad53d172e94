"""Wakes workers without Celery, with the blanks that workers keep in Redis."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Lane, lane_of, queue_of
from openclaw_workers.engine.wake import Waker, shown_args
from openclaw_workers.errors import TransientError
from openclaw_workers.logger import get_logger
from openclaw_workers.store.client import Client, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.wake_messages import Blanks, WakeMessages

log = get_logger(__name__)

KNOWN_SECONDS = 60.0
"""How long the blanks are not read again; a worker of a new version may have kept others."""
CHORD_SECONDS = 30 * 86_400


class QueueWaker:
    """Implements Waker for clients. Without blanks it has `other` do it, which is loaded then."""

    def __init__(
        self, redis: Client, keys: Keys, other: Callable[[], Waker], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._other = other
        self._clock = clock
        self._store = WakeMessages(redis, keys)
        self._blanks: Blanks | None = None
        self._read_at = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether it can write wake-ups without reading anything first."""
        return self._blanks is not None and self._clock() - self._read_at <= KNOWN_SECONDS

    def refresh(self) -> None:
        """Read the blanks again."""
        try:
            self._read()
        except TransientError as error:
            log.warning("wake.blanks_unread", error=error.message)

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        """Whichever worker gets it: one that does not see the files of the agent passes it on."""
        if self._known() is None:
            return self._other().turn(session, run, place=place)
        return self._push(lane_of(session), self.sealed(session, run), run)

    def sealed(self, session: SessionKey, run: RunId) -> str:
        """The wake-up as text, for a script that stores it with a message.

        Raises:
            StoreUnavailable: the blanks were never read, and Redis does not answer: the script would fail too.
        """
        if self._blanks is None:
            self._read()
        blanks, lane = self._known(), queue_of(lane_of(session))
        if blanks is None:
            return self._other().sealed(session, run)
        return blanks.turns[lane].fill([session, run], task_id=run, shown=shown_args(session))

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        blanks = self._known()
        if blanks is None:
            return self._other().chord(batch, headers)
        key = blanks.chord_size_key.replace("@BATCH@", batch)
        try:
            write(self._redis, (key, "SET", len(headers), "EX", CHORD_SECONDS))
        except TransientError as error:
            log.warning("chord.publish_failed", batch=batch, error=error.message)
            return False
        published = [self.header(*each, batch, index) for index, each in enumerate(headers)]
        return all(published)

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        blanks = self._known()
        if blanks is None:
            return self._other().header(session, run, batch, index)
        shown = shown_args(session)
        message = blanks.header.fill([session, run], task_id=run, shown=shown, batch=batch, index=index)
        return self._push(Lane.SUBAGENT, message, run)

    def forget_chord(self, batch: BatchId) -> None:
        """Only workers announce; they have Celery."""
        self._other().forget_chord(batch)

    def memory_note(self, session_id: str) -> bool:
        """Only workers save conversations to memory."""
        return self._other().memory_note(session_id)

    def oldest_ms(self, session: SessionKey) -> int:
        """Only workers sweep."""
        return self._other().oldest_ms(session)

    def _known(self) -> Blanks | None:
        if not self.is_ready:
            self.refresh()
        return self._blanks

    def _read(self) -> None:
        self._read_at = self._clock()
        self._blanks = self._store.load()

    def _push(self, lane: Lane, message: str, run: RunId) -> bool:
        try:
            write(self._redis, (self._keys.broker_queue(lane), "LPUSH", message))
        except TransientError as error:
            log.warning("wake.publish_failed", id=run, error=error.message)
            return False
        return True
