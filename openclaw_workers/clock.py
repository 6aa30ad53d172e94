"""Two kinds of time that must not be mixed: wall-clock time to store, monotonic time to measure durations."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch, to store and to show."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go backwards, to measure durations."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


def iso(at_ms: int) -> str:
    """Format a stored time as ISO 8601: `2026-01-31T12:00:00.250Z`."""
    at = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
