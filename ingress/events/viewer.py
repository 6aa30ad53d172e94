"""One viewer: a bounded queue of events. A viewer that reads too slowly is dropped; the others do not wait for it."""

from __future__ import annotations

import asyncio
import json
from collections import deque

from openclaw_workers.domain.events import Event

MOST_EVENTS = 2000
"""As many as a session's stream keeps: whoever is further behind has to read the session again anyway."""
MOST_BYTES = 8 << 20


class Shown:
    """An event with its form for viewers, which is made once for all of them."""

    __slots__ = ("_text", "event", "session", "size")

    def __init__(self, session: str, event: Event, size: int = 0) -> None:
        """`size`: of its data, in characters."""
        self.session = session
        self.event = event
        self.size = size
        self._text: bytes | None = None

    @property
    def text(self) -> bytes:
        if self._text is None:
            event = self.event
            body = {**event.data, "seq": event.seq, "at": event.at, "sessionKey": self.session}
            self._text = sse(event.type, body, event_id=event.id)
        return self._text


class Viewer:
    def __init__(self) -> None:
        self._waiting: deque[Shown] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self.is_over = False
        """It was too slow, or the process ends."""

    def put(self, shown: Shown) -> None:
        if self.is_over:
            return
        self._size += shown.size
        if len(self._waiting) >= MOST_EVENTS or self._size > MOST_BYTES:
            self.end()
            return
        self._waiting.append(shown)
        self._news.set()

    def end(self) -> None:
        self._waiting.clear()
        self.is_over = True
        self._news.set()

    async def take(self, seconds: float) -> list[Shown]:
        """What has come since the last call; waits up to `seconds` for the first."""
        if not self._news.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return []
        self._news.clear()
        if self.is_over:
            self._news.set()
        found = list(self._waiting)
        self._waiting.clear()
        self._size = 0
        return found


def sse(kind: str, body: object, *, event_id: str = "") -> bytes:
    """One event in the form of server-sent events."""
    head = f"id: {event_id}\n" if event_id else ""
    # JSON escapes line breaks, so that the data is one line. A type never has one.
    return f"{head}event: {kind}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode(errors="replace")
