"""When a session is too old to be continued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum

from openclaw_workers.errors import BadInput
from openclaw_workers.models.session_key import ChatType


class ResetMode(StrEnum):
    DAILY = "daily"  # at an hour of the day, and after idle_minutes where they are set
    IDLE = "idle"  # after idle_minutes
    NONE = "none"  # only when someone asks for it


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """When a session starts anew by itself. The default is what holds where nothing is configured."""

    mode: ResetMode = ResetMode.DAILY
    at_hour: int = 4
    idle_minutes: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.at_hour <= 23:
            raise BadInput(f"atHour is {self.at_hour}; expected an hour from 0 to 23")
        if self.idle_minutes is not None and self.idle_minutes < 1:
            raise BadInput(f"idleMinutes is {self.idle_minutes}; expected at least 1")
        if self.mode is ResetMode.IDLE and self.idle_minutes is None:
            raise BadInput("reset mode idle needs idleMinutes; set it, or use mode daily")


@dataclass(frozen=True, slots=True)
class Freshness:
    """A session is stale if its last interaction is before the boundary, or longer ago than the idle time.

    Either is enough; 0 means that it never is for this reason.
    """

    daily_boundary_ms: int = 0
    idle_ms: int = 0


def resolve_policy(
    *,
    channel: str,
    chat_type: ChatType,
    reset: ResetPolicy | None = None,
    by_type: Mapping[str, ResetPolicy] | None = None,
    by_channel: Mapping[str, ResetPolicy] | None = None,
) -> ResetPolicy:
    """Choose the policy of one chat: by channel, then by type (`dm` or `direct`), then the general one.

    The chosen one holds whole; it is not filled up from those it goes before.
    """
    channels = {name.strip().lower(): policy for name, policy in (by_channel or {}).items()}
    types = by_type or {}
    of_type = types.get(chat_type.value)
    if of_type is None and chat_type is ChatType.DM:
        of_type = types.get("direct")
    return channels.get(channel.strip().lower()) or of_type or reset or ResetPolicy()


def boundaries(policy: ResetPolicy, now: datetime, tz: tzinfo) -> Freshness:
    """Give the most recent daily boundary in `tz`, and the idle time, as the policy has them.

    `now` carries its zone. An hour that the clocks skip falls where it would have been without the jump; one
    that they repeat counts once, the first time.
    """
    if policy.mode is ResetMode.NONE:
        return Freshness()
    daily = _last_boundary(policy.at_hour, now, tz) if policy.mode is ResetMode.DAILY else None
    return Freshness(
        daily_boundary_ms=int(daily.timestamp() * 1000) if daily else 0,
        idle_ms=(policy.idle_minutes or 0) * 60_000,
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
