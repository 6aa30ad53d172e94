"""Wall time, for what is stored and shown. Use `time.monotonic` to measure."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return int(time.time() * 1000)


def iso(at_ms: int) -> str:
    """Format a stored time as ISO 8601: `2026-01-31T12:00:00.250Z`."""
    at = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def zone_of(name: str) -> tzinfo:
    """A configured time zone; `local` is this machine's."""
    if name != "local":
        return ZoneInfo(name)
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    return zone
