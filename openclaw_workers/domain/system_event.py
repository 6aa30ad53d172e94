"""System events: something happened that a session learns of in its next turn. Nobody said it."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.domain.stored_json import to_json

PROVENANCE = "system_event"
"""Of the transcript entry that carries events, and of the message that only wakes a session for them."""
MAX_EVENT_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class SystemEvent:
    source: str
    """What reports it: `webhook github`, `exec`, `cron`."""
    text: str
    key: str
    """The same each time this event is reported; within a day only the first one counts."""
    shown: str
    """What the model reads."""
    at: int = 0
    """When it was stored, in epoch milliseconds by the clock of Redis."""

    def as_json(self) -> str:
        return to_json({name: getattr(self, name) for name in self.__slots__})
