"""When a session is too old to be continued."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo

from openclaw_workers.config.session import ResetSettings
from openclaw_workers.store.turn_records import ResetTimes


def boundaries(reset: ResetSettings, now: datetime, tz: tzinfo) -> ResetTimes:
    """Give the most recent daily boundary in `tz`, and the idle time, as the policy has them.

    `now` carries its zone. An hour that the clocks skip falls where it would have been without the jump; one
    that they repeat counts once, the first time.
    """
    if reset.mode == "none":
        return ResetTimes()
    daily = _last_boundary(reset.at_hour, now, tz) if reset.mode == "daily" else None
    return ResetTimes(
        daily_boundary_ms=int(daily.timestamp() * 1000) if daily else 0,
        idle_ms=(reset.idle_minutes or 0) * 60_000,
    )


def _last_boundary(at_hour: int, now: datetime, tz: tzinfo) -> datetime:
    # Two times of one zone compare by their wall clocks, which is wrong around a change of clocks.
    day = now.astimezone(tz).date()
    boundary = datetime.combine(day, time(at_hour), tz).astimezone(UTC)
    # More than one step back only where a zone has skipped a whole day, as Samoa did in 2011.
    while boundary > now.astimezone(UTC):
        day -= timedelta(days=1)
        boundary = datetime.combine(day, time(at_hour), tz).astimezone(UTC)
    return boundary
