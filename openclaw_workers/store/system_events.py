"""Events that sessions see in their next turn."""

from __future__ import annotations

from typing import Any, Literal

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.stored_json import record_fields
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

Added = Literal["added", "known", "missing"]


class SystemEvents:
    """Adds events without waking anybody; `Inbox.accept` adds one together with a message that does."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def add(self, session: SessionKey, event: SystemEvent) -> Added:
        """Add an event. `known`: one with its key was added within a day. `missing`: there is no such session."""
        reply = run_script(
            self._redis,
            "add_event",
            keys={**self._keys.for_session(session, "row", "ctl", "system_events", "event_keys")},
            args={"system_event": event.as_json()},
        )
        answer: Added = reply[0]
        return answer

    def waiting(self, session: SessionKey) -> list[SystemEvent]:
        """Events that the session has not seen yet, oldest first."""
        with store_errors():
            raws: Any = self._redis.lrange(self._keys.system_events(session), 0, -1)
        return [SystemEvent(**record_fields(str(raw), f"system event of {session}")) for raw in raws]
