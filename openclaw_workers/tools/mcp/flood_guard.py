"""A limit for what a server sends, so that it cannot fill the worker's memory or keep its processor busy."""

from __future__ import annotations

import time
from collections.abc import Callable

WINDOW_SECONDS = 10.0
MESSAGES_PER_WINDOW = 8
"""In one window a server may send as many bytes as this many of the largest messages have."""
LINES_PER_WINDOW = 20_000


class Flooded(Exception):
    """The server sent more than it may."""


class FloodGuard:
    def __init__(self, max_message_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_message_bytes = max_message_bytes
        self._clock = clock
        self._window_began = clock()
        self._bytes = 0
        self._lines = 0

    def add(self, size: int, lines: int = 0) -> None:
        """Count what has arrived.

        Raises:
            Flooded: it is too much.
        """
        now = self._clock()
        if now - self._window_began >= WINDOW_SECONDS:
            self._window_began, self._bytes, self._lines = now, 0, 0
        self._bytes += size
        self._lines += lines
        if self._bytes > self.max_message_bytes * MESSAGES_PER_WINDOW or self._lines > LINES_PER_WINDOW:
            sent = f"{self._bytes:,} bytes in {self._lines:,} messages"
            raise Flooded(f"it sent {sent} within {WINDOW_SECONDS:g} seconds")

    def check_message(self, size: int) -> None:
        """Raises:
        Flooded: one message is too large.
        """
        if size > self.max_message_bytes:
            raise Flooded(f"it sent a message of more than {self.max_message_bytes:,} bytes (maxMessage)")
