"""Conversations that ended and are to be saved to memory."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import MEMORY_NOTE, Keys

KEPT_SECONDS = 30 * 86_400


@dataclass(frozen=True, slots=True)
class MemoryNote:
    session_id: str
    session_key: str
    agent_id: str
    place: str
    """The state directory that holds the transcript."""
    at_ms: int
    """When the conversation ended."""
    is_done: bool = False


class MemoryNotes:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def register(self, note: MemoryNote) -> None:
        """Have a conversation saved; one that was registered before is not saved again."""
        key = self._keys.memory_note(note.session_id)
        with store_errors():
            if self._redis.exists(key):
                return
        session = ("session_key", note.session_key, "agent_id", note.agent_id)
        fields = (*session, "place", note.place, "at_ms", note.at_ms, "v", SCHEMA)
        write(
            self._redis,
            (key, "HSET", *fields),
            (key, "EXPIRE", KEPT_SECONDS),
            # In the past, so it is due at once.
            (self._keys.due, "ZADD", note.at_ms, f"{MEMORY_NOTE}{note.session_id}"),
        )

    def find(self, session_id: str) -> MemoryNote | None:
        with store_errors():
            found = self._redis.hgetall(self._keys.memory_note(session_id))
        raw = {str(name): str(value) for name, value in found.items()}
        if not raw:
            return None
        return MemoryNote(
            session_id,
            raw.get("session_key", ""),
            raw.get("agent_id", ""),
            raw.get("place", ""),
            int(raw.get("at_ms") or 0),
            raw.get("done") == "1",
        )

    def is_archived(self, session_id: str) -> bool:
        """Whether the whole transcript is on disk."""
        with store_errors():
            return not self._redis.hexists(self._keys.archives, session_id)

    def done(self, session_id: str) -> None:
        key = self._keys.memory_note(session_id)
        write(
            self._redis,
            (key, "HSET", "done", "1"),
            (key, "EXPIRE", KEPT_SECONDS),
            (self._keys.due, "ZREM", f"{MEMORY_NOTE}{session_id}"),
        )
