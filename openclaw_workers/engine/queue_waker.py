"""Wakes workers without Celery, with the templates that workers keep in Redis."""

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
from openclaw_workers.store.wake_messages import WakeMessages, WakeTemplates

log = get_logger(__name__)

KNOWN_SECONDS = 60.0
"""How long the templates are not read again; a worker of a new version may have kept others."""
# A chord must outlive the longest wait of its parked runs (rule 3).
CHORD_SECONDS = 30 * 86_400


class QueueWaker:
    """Implements Waker for clients. Without templates it has `other` do it, which is loaded then."""

    def __init__(
        self, redis: Client, keys: Keys, other: Callable[[], Waker], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._other = other
        self._clock = clock
        self._store = WakeMessages(redis, keys)
        self._blanks: WakeTemplates | None = None
        self._read_at = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether it can write wake-ups without reading anything first."""
        return self._blanks is not None and self._clock() - self._read_at <= KNOWN_SECONDS

    def refresh(self) -> None:
        """Read the templates again."""
        try:
            self._read()
        except TransientError as error:
            log.warning("wake.blanks_unread", error=error.message)

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        """Whichever worker gets it: one that does not see the files of the agent passes it on."""
        if self._known() is None:
            return self._other().turn(session, run, place=place)
        return self._push(lane_of(session), self.wake_text(session, run), run)

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        """The wake-up as text, for a script that stores it with a message.

        Raises:
            StoreUnavailable: the templates were never read, and Redis does not answer: the script would fail too.
        """
        if self._blanks is None:
            self._read()
        templates, lane = self._known(), queue_of(lane_of(session))
        if templates is None:
            return self._other().wake_text(session, run)
        return templates.turns[lane].fill([session, run], task_id=run, shown=shown_args(session))

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        templates = self._known()
        if templates is None:
            return self._other().chord(batch, headers)
        key = templates.chord_size_key.replace("@BATCH@", batch)
        try:
            write(self._redis, (key, "SET", len(headers), "EX", CHORD_SECONDS))
        except TransientError as error:
            log.warning("chord.publish_failed", batch=batch, error=error.message)
            return False
        published = [self.header(*each, batch, index) for index, each in enumerate(headers)]
        return all(published)

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        templates = self._known()
        if templates is None:
            return self._other().header(session, run, batch, index)
        shown = shown_args(session)
        message = templates.header.fill([session, run], task_id=run, shown=shown, batch=batch, index=index)
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

    def _known(self) -> WakeTemplates | None:
        if not self.is_ready:
            self.refresh()
        return self._blanks

    def _read(self) -> None:
        # Before the read: while Redis is away, not every wake-up shall wait for it.
        self._read_at = self._clock()
        self._blanks = self._store.load()

    def _push(self, lane: Lane, message: str, run: RunId) -> bool:
        try:
            write(self._redis, (self._keys.broker_queue(lane), "LPUSH", message))
        except TransientError as error:
            log.warning("wake.publish_failed", id=run, error=error.message)
            return False
        return True
