"""Wall time, for what is stored and shown. Use `time.monotonic` to measure."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


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


def zone_name(configured: str, localtime: Path = Path("/etc/localtime")) -> str:
    """The name of the configured time zone; for `local` that of this machine, or "" if it has none.

    An offset would not do instead: it changes twice a year, which would change the cached prompt.
    """
    if configured != "local":
        return configured
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        try:
            name = os.readlink(localtime)
        except OSError:
            return ""
    name = name.rpartition("zoneinfo/")[2].removeprefix("posix/")
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""


def local_zone() -> str:
    """A name for this machine's time zone. Without a name of its own: that of its offset now, or UTC."""
    if name := zone_name("local"):
        return name
    offset = datetime.now().astimezone().utcoffset()
    hours = offset.total_seconds() / 3600 if offset is not None else 0.0
    # By convention these names have the opposite sign.
    return f"Etc/GMT{-int(hours):+d}" if hours and hours.is_integer() else "UTC"
