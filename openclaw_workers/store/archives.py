"""Archives on their way to disk: transcripts that were cut off, and results that came too late for them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import Any

from openclaw_workers.domain.ids import new_token
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer

WRITER_LEASE_MS = 30_000
"""How long a writer may take for one part of an archive before somebody else may write it."""
PART = 200
"""Entries that are read, written and removed at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """A state directory. Processes that share it share its id, whatever host they run on."""

    id: str
    shown: str
    """Host and directory, for people."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of one session id, claimed by one writer."""

    id: str
    session_id: str
    agent_id: str
    session_key: str
    started_at: int = 0
    is_deleted: bool = False
    """Its session was deleted, not only reset."""
    workspace: str = ""
    """Where a child worked, if not where its agent does."""
    token: str = ""
    """Proof that this writer is the one."""
    written: int = 0
    """Entries on disk that are no longer in Redis."""
    size: int | None = None
    """The size of the file with these; None where nobody has noted it."""


class Archives:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def claim(self, archive_id: str, place: Place) -> Archive | None:
        """Become the writer of an archive; None if there is none, or somebody else is to write it.

        Raises:
            CorruptRecord: what is known of it cannot be read.
        """
        k, token = self._keys, new_token()
        reply = run_script(
            self._redis,
            "claim_archive",
            keys={
                **k.shared("archives", "due"),
                "writer": k.archiving(archive_id),
                "waiting_prefix": k.archives_at(""),
            },
            args={
                "id": archive_id,
                "token": token,
                "place": place.id,
                "lease_ms": WRITER_LEASE_MS,
            },
        )
        if reply[0] != "claimed":
            return None
        _, about, written, size = reply
        return _archive(archive_id, about, token, written, size)

    def agent_of(self, archive_id: str) -> str:
        """Whose archive it is; "" if it is written already, or damaged, which `claim` reports."""
        with store_errors():
            about = self._redis.hget(self._keys.archives, archive_id)
        try:
            return str(json.loads(str(about))["agent_id"]) if about else ""
        except (ValueError, KeyError, TypeError):
            return ""

    def part(self, archive: Archive) -> list[str]:
        """The entries to be written next."""
        with store_errors():
            raws = self._redis.lrange(self._keys.archive(archive.id), 0, PART - 1)
        return [str(raw) for raw in raws]

    def trim(self, archive: Archive, entries: int, *, size: int, place: Place) -> int | None:
        """Remove entries that are on disk; returns how many are left, None if somebody else is the writer now.

        With none left the archive is forgotten.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "trim_archive",
            keys={
                **k.shared("archives", "archive_places", "due"),
                "archive": k.archive(archive.id),
                "writer": k.archiving(archive.id),
            },
            args={
                "id": archive.id,
                "token": archive.token,
                # Tells the script a repeat from the next part (rule 13).
                "before": archive.written,
                "count": entries,
                "size": size,
                "place": place.id,
                "host": place.shown,
                "lease_ms": WRITER_LEASE_MS,
            },
        )
        return int(reply[1]) if reply[0] == "trimmed" else None

    def place_of(self, session_id: str) -> Place | None:
        """Where the archive of a session id was written; None if nobody has begun it, or it is longer ago than that
        is remembered."""
        with store_errors():
            place, shown = self._redis.hmget(self._keys.archiving(session_id), ["place", "host"])
        return Place(str(place), str(shown or place)) if place else None

    def places(self) -> list[Place]:
        """All places that have archives."""
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.archive_places)
        return [Place(str(place), str(shown)) for place, shown in sorted(found.items())]

    def waiting_lines(self, session_id: str, run_id: str) -> list[str]:
        """Entries of a run in an archive that waits to be written."""
        found: list[str] = []
        for start in count(0, PART):
            with store_errors():
                raws: Any = self._redis.lrange(self._keys.archive(session_id), start, start + PART - 1)
            # A cheap first look. The caller parses what is left.
            found += [raw for raw in map(str, raws) if run_id in raw]
            if len(raws) < PART:
                break
        return found

    def waiting(self) -> Counter[str]:
        """How many archives wait for a writer at a place that has begun them; places as people know them."""
        k = self._keys
        with store_errors():
            ids = [str(archive_id) for archive_id in self._redis.hkeys(k.archives)]
            with self._redis.pipeline(transaction=False) as pipe:
                for archive_id in ids:
                    pipe.hmget(k.archiving(archive_id), ["waits", "host"])
                found = each_answer(pipe)
        return Counter(str(each[1]) for each in found if each and each[0])


def _archive(archive_id: str, about: str, token: str, written: int, size: int) -> Archive:
    try:
        facts = json.loads(about)
        return Archive(
            id=archive_id,
            session_id=facts["session_id"],
            agent_id=facts["agent_id"],
            session_key=facts["session_key"],
            started_at=facts.get("started_at") or 0,
            is_deleted=facts.get("why") == "delete",
            workspace=facts.get("workspace") or "",
            token=token,
            written=written,
            size=size if size >= 0 else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRecord(f"archive {archive_id}", str(error)) from error
