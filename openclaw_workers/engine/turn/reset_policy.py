"""When a session is too old to be continued."""

from __future__ import annotations

import time as clock_time
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache

from openclaw_workers.clock import zone_of
from openclaw_workers.config.session import ResetSettings, SessionSettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import ChatType, chat_type
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.store.turn_records import ResetTimes


class ResetPolicy:
    def __init__(self, rules: SessionSettings, agents: AgentConfigs) -> None:
        self._rules = rules
        self._agents = agents
        self._cached = lru_cache(maxsize=64)(self._times)

    def times(self, session: SessionKey) -> dict[str, ResetTimes]:
        """When a session is reset, by the channel it was last spoken to on; "" is any other channel."""
        # Boundaries are whole hours, so one look a minute is exact.
        minute = int(clock_time.time() // 60)
        return self._cached(chat_type(session), self._agents.of_session(session).user_timezone, minute)

    def _times(self, kind: ChatType, zone: str, _minute: int) -> dict[str, ResetTimes]:
        rules, tz = self._rules, zone_of(zone)
        now = datetime.now(tz)
        return {name: boundaries(rules.reset_for(kind, name), now, tz) for name in ("", *rules.reset_by_channel)}


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
