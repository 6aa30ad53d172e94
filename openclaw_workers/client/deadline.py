"""How long a caller is willing to wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from openclaw_workers.errors import OpenClawError

Monotonic = Callable[[], float]


class WaitOver(OpenClawError):
    """The caller's time is up; the run continues."""


class Deadline:
    """A point in time after which the caller stops waiting; without seconds it waits for ever."""

    def __init__(self, seconds: float | None = None, *, clock: Monotonic = time.monotonic) -> None:
        self._clock = clock
        self._ends_at = None if seconds is None else clock() + seconds

    @property
    def is_over(self) -> bool:
        return self._ends_at is not None and self._clock() >= self._ends_at

    def block_ms(self, most: int) -> int:
        """How long one blocking read may last: at most so long, and not past the deadline."""
        if self._ends_at is None:
            return most
        left_ms = int((self._ends_at - self._clock()) * 1000)
        # Never 0: for Redis, BLOCK 0 means to wait for ever.
        return max(1, min(most, left_ms))
