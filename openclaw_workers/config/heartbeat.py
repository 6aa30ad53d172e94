"""Turns that an agent starts by itself, to check whether something needs attention."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from openclaw_workers.config.base import Duration, HoursTimeZone, ModelRef, PeerId, Section, TimeOfDay


class HoursSettings(Section):
    start: TimeOfDay
    """First minute, as HH:MM."""

    end: TimeOfDay
    """First minute after the period, as HH:MM; earlier than start means past midnight."""

    timezone: HoursTimeZone = "user"
    """user (agents.defaults.userTimezone), local (this host) or a name such as Europe/Berlin."""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.start == self.end:
            raise ValueError("expected start and end to differ")
        return self


class HeartbeatSettings(Section):
    every: Duration = timedelta(minutes=30)
    """Time between two heartbeats, such as 30m; 0m disables them."""

    active_hours: HoursSettings | None = None
    """Hours in which heartbeats run; unset means always."""

    quiet_hours: HoursSettings | None = None
    """Hours in which heartbeats do not run. Set either this or activeHours."""

    model: ModelRef | None = None
    """A cheaper model for these turns; unset: the agent's own."""

    session: str = "main"
    """Session they run in."""

    target: str = "owner"
    """Who receives an alert: owner, last (where the session last replied), none, or a channel name."""

    to: PeerId | None = None
    """Recipient on the target channel."""

    account_id: str | None = None
    """Account to send from, if the channel has several."""

    prompt: str | None = None
    """What the agent is asked; unset: the built-in request."""

    ack_max_chars: StrictInt = Field(default=30, ge=0)
    """An answer with HEARTBEAT_OK and at most this many other characters is dropped."""

    light_context: StrictBool = False
    """Load only HEARTBEAT.md from the workspace files."""

    history: StrictBool = True
    """Whether a heartbeat sees the conversation of its session; without it, it costs much less."""

    min_spacing: Duration = timedelta(seconds=30)
    """Shortest time between two heartbeats, whatever makes them due; those that come sooner are skipped."""

    @model_validator(mode="after")
    def _one_kind_of_hours(self) -> Self:
        if self.active_hours and self.quiet_hours:
            raise ValueError("expected activeHours or quietHours, not both")
        return self
