"""Notes about records that could not be read, for a person to look at."""

from __future__ import annotations

import json
from hashlib import sha1
from typing import TypedDict

from pydantic import ValidationError

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.stored_json import record_json
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import Keys

KEPT = 1_000
RAW_CHARS = 10_000
FIELDS_NAMED = 5


class Note(TypedDict):
    where: str
    why: str
    raw: str
    """What was stored, as far as it is known."""
    at: int | None
    """When it was first met, by the clock of whoever did; None if that is no longer known."""


class Quarantine:
    """The newest notes, each of them once."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def keep(self, where: str, why: str, raw: object) -> None:
        k = self._keys
        note = record_json({"where": where, "why": why, "raw": str(raw)[:RAW_CHARS]})
        write(
            self._redis,
            # A record that is met again moves to the front instead of being listed twice.
            (k.quarantine, "LREM", 0, note),
            (k.quarantine, "LPUSH", note),
            (k.quarantine, "LTRIM", 0, KEPT - 1),
            # Not in the note itself, which would then be another one each time the record is met.
            (k.quarantine_times, "ZADD", "NX", now_ms(), _digest(note)),
            (k.quarantine_times, "ZREMRANGEBYRANK", 0, -KEPT - 1),
        )

    def notes(self) -> list[Note]:
        """The latest first."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.lrange(self._keys.quarantine, 0, -1)
            pipe.zrange(self._keys.quarantine_times, 0, -1, withscores=True)
            raws, times = pipe.execute()
        known = {str(digest): int(at) for digest, at in times}
        return [_note(str(raw), known.get(_digest(str(raw)))) for raw in raws]


def fields_at_fault(error: ValidationError) -> str:
    """Which fields cannot be read, and why."""
    found = [f"{'.'.join(map(str, each['loc'])) or 'record'}: {each['msg']}" for each in error.errors()]
    more = [f"and {len(found) - FIELDS_NAMED} more"] if len(found) > FIELDS_NAMED else []
    return "; ".join(found[:FIELDS_NAMED] + more)


def _note(raw: str, at: int | None) -> Note:
    note = json.loads(raw)
    return Note(where=note["where"], why=note["why"], raw=note["raw"], at=at)


def _digest(note: str) -> str:
    return sha1(note.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:20]
