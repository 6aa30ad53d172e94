"""Reading what is stored: sessions, runs, transcripts, events. Damaged records are skipped and noted, never fatal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError

from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.session_row import SessionEntry, from_hash
from openclaw_workers.domain.stored_json import check_form
from openclaw_workers.domain.transcript import TranscriptEntry, load_entry
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import TEXTS, Keys
from openclaw_workers.store.pipelines import each_answer
from openclaw_workers.store.quarantine import Note, Quarantine, fields_at_fault
from openclaw_workers.store.run_texts import ask_for_entries, lacks_text, with_text_from

PAGE = 200
MOST_LABELLED = 1000
STATE_FIELDS = ("state", "run", "lease_until", "owner", "attempt", "waits_for")
"""The fields of a session's control hash that `parse_state` reads."""

T = TypeVar("T")


class Reader:
    """Reads without changing anything, except that it notes damaged records."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._quarantine = Quarantine(redis, keys)
        self._left: set[tuple[str, int]] = set()

    @property
    def unreadable(self) -> int:
        """How many records it had to leave out so far."""
        return len(self._left)

    def session(self, key: SessionKey) -> SessionEntry | None:
        (raw,) = self.hashes("session", [key], self._keys.row)
        return self.readable(f"session {key}", lambda: from_hash(raw), raw) if raw else None

    def row(self, key: SessionKey) -> dict[str, str]:
        """A session's row as it is stored; empty when there is none."""
        with store_errors():
            return _text(self._redis.hgetall(self._keys.row(key)))

    def sessions(self, limit: int = 100) -> list[SessionEntry]:
        """Sessions, most recently used first. Unreadable rows are left out and quarantined."""
        return list(islice(self.each_session(page=limit), limit))

    def each_session(self, page: int = 200) -> Iterator[SessionEntry]:
        """All sessions, most recently used first."""
        for keys in self._pages(self._keys.sessions, page):
            yield from self._sessions(keys)

    def _sessions(self, keys: Sequence[str]) -> Iterator[SessionEntry]:
        for key, row in zip(keys, self.hashes("session", keys, self._keys.row), strict=True):
            entry = self.readable(f"session {key}", lambda row=row: from_hash(row), row) if row else None  # type: ignore[misc]
            if entry is not None:
                yield entry

    def labelled(self, label: str) -> list[SessionEntry]:
        """The sessions that were given this label last, at most `MOST_LABELLED`, the newest first."""
        return self._indexed(self._keys.label(label), MOST_LABELLED)

    def spawned(self, key: SessionKey) -> list[SessionEntry]:
        """The sessions that this one has spawned and that were not deleted, the newest first."""
        return self._indexed(self._keys.spawned(key), -1)

    def _indexed(self, index: str, most: int) -> list[SessionEntry]:
        with store_errors():
            last = most - 1 if most >= 0 else -1
            keys = [str(key) for key in self._redis.zrange(index, 0, last, desc=True)]
        return list(self._sessions(keys))

    def control(self, key: SessionKey) -> SessionState:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hmget(self._keys.ctl(key), STATE_FIELDS)
            pipe.zcard(self._keys.inbox(key))
            found, waiting = each_answer(pipe)
        if found is None:
            self.quarantine(f"session {key}", _unfit(self._keys.ctl(key)), "")
        return parse_state(found, waiting)

    def run(self, run_id: RunId) -> Run | None:
        """A run with its whole text, also if that has expired in its record and is still in Redis elsewhere."""
        found = self.some_runs([run_id])
        return self.with_text(found[0]) if found else None

    def some_runs(self, ids: Sequence[RunId]) -> list[Run]:
        """The records of these runs, in this order; expired and unreadable ones are left out."""
        return [run for _, run in self._runs(ids)]

    def _runs(self, ids: Sequence[str]) -> Iterator[tuple[str, Run]]:
        # The texts of a run expire long before its record, so they have a key of their own.
        both = [name for run_id in ids for name in (run_id, f"{run_id}{TEXTS}")]
        raws = self.hashes("run", both, self._keys.run)
        for index, run_id in enumerate(ids):
            record, texts = raws[2 * index], raws[2 * index + 1]
            whole = {**record, **texts}
            run = self.readable(f"run {run_id}", lambda whole=whole: parse_run(whole), whole) if record else None  # type: ignore[misc]
            if run is not None:
                yield run_id, run

    def with_text(self, run: Run) -> Run:
        """A run with its whole text, from the transcript or the archive in Redis if its record no longer has it."""
        if not lacks_text(run):
            return run
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            ask_for_entries(pipe, self._keys, run)
            return with_text_from(run, each_answer(pipe))

    def runs(self, limit: int = 50) -> list[Run]:
        """Runs, newest first."""
        return list(islice(self.each_run(page=limit), limit))

    def each_run(self, page: int = 200) -> Iterator[Run]:
        """All runs, newest first."""
        for ids in self._pages(self._keys.runs, page):
            yield from (run for _, run in self._runs(ids))

    def _pages(self, index: str, page: int) -> Iterator[list[str]]:
        """The names in an index, highest score first.

        What moves to the front meanwhile pushes others onto the next page; none of them is given twice.
        """
        start, names, given = 0, [""] * page, set[str]()
        while len(names) == page:
            with store_errors():
                names = [str(name) for name in self._redis.zrange(index, start, start + page - 1, desc=True)]
            yield [name for name in names if name not in given]
            given.update(names)
            start += page

    def hashes(self, kind: str, names: Sequence[str], key_of: Callable[[str], str]) -> list[dict[str, str]]:
        """Records of one kind; empty where there is none, or where a key holds something else, which is noted."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hgetall(key_of(name))
            found = each_answer(pipe)
        for name, raw in zip(names, found, strict=True):
            if raw is None:
                self._left_out(f"{kind} {name}", _unfit(key_of(name)), "")
        return [_text(raw or {}) for raw in found]

    def running(self) -> list[SessionKey]:
        with store_errors():
            return [SessionKey(str(key)) for key in self._redis.zrange(self._keys.running, 0, -1)]

    def transcript(self, key: SessionKey, start: int = 0, end: int = -1) -> list[TranscriptEntry]:
        return self.entries(key, self._raws(key, start, end))

    def stored_entries(self, key: SessionKey, start: int = 0) -> list[str]:
        """Entries as they are stored, readable or not."""
        return self._raws(key, start, -1)

    def _raws(self, key: SessionKey, start: int, end: int) -> list[str]:
        """Stored entries, read in portions that keep Redis from others for about a millisecond each."""
        answers: list[list[str]] = []
        known = 0
        while True:
            # From the end backwards: the script returns the newest of the requested entries that fit into a short
            # answer.
            length, place, raws = run_script(
                self._redis,
                "transcript_page",
                keys={"log": self._keys.log(key)},
                args={
                    "first": start,
                    "last": end,
                },
            )
            if length < known:  # it was reset meanwhile: this is another transcript
                break
            answers.append(raws)
            # A negative start is counted from an end that moves while the transcript grows, so it is fixed here.
            known, start = length, start if start >= 0 else max(0, length + start)
            if place <= start or not raws:
                break
            end = place - 1
        return [raw for answer in reversed(answers) for raw in answer]

    def transcript_length(self, key: SessionKey) -> int:
        with store_errors():
            return int(self._redis.llen(self._keys.log(key)))

    def pages_back(self, key: SessionKey) -> Iterator[list[TranscriptEntry]]:
        """The transcript as it is now, in pages: the newest first, each in order; without what is added meanwhile."""
        end = self.transcript_length(key)
        while end > 0:
            start = max(0, end - PAGE)
            yield self.transcript(key, start, end - 1)
            end = start

    def raw_transcript(self, key: SessionKey, start: int = 0, end: int = -1) -> tuple[list[str], int]:
        """Entries as they are stored, without the unreadable ones, and how many those were."""
        raws = self._raws(key, start, end)
        whole = [raw for raw in raws if self.entries(key, [raw])]
        return whole, len(raws) - len(whole)

    def entries(self, key: SessionKey, raws: Iterable[str]) -> list[TranscriptEntry]:
        """Parse stored entries; an unreadable one is quarantined and left out."""
        found = (self.readable(f"transcript of {key}", lambda raw=raw: load_entry(raw), raw) for raw in raws)  # type: ignore[misc]
        return [entry for entry in found if entry is not None]

    def events(self, key: SessionKey, after: str, *, block_ms: int = 0, count: int = 500) -> list[Event]:
        """Events after a stream id; waits up to `block_ms`, which must stay under the client's time-out."""
        with store_errors():
            reply: Any = self._redis.xread({self._keys.events(key): after}, count=count, block=block_ms or None)
        return [parse_event(str(event_id), fields) for _, items in reply or [] for event_id, fields in items]

    def last_event_id(self, key: SessionKey) -> str:
        with store_errors():
            last = self._redis.xrevrange(self._keys.events(key), count=1)
        return str(last[0][0]) if last else "0"

    def quarantined(self) -> list[Note]:
        return self._quarantine.notes()

    def quarantine(self, where: str, why: str, raw: object) -> None:
        """Keep a damaged record for a person to look at, once."""
        self._quarantine.keep(where, why, raw)

    def readable(self, where: str, read: Callable[[], T], raw: object) -> T | None:
        """A parsed record; None if it is damaged, which is noted."""
        try:
            return read()
        # The JSON parser raises RecursionError for a text that is nested too deeply.
        except (ValidationError, CorruptRecord, ValueError, RecursionError) as error:
            self._left_out(where, _why(error), raw)
            return None

    def _left_out(self, where: str, why: str, raw: object) -> None:
        # A record that is read twice counts once.
        self._left.add((where, hash(str(raw))))
        self.quarantine(where, why, raw)


def _unfit(key: str) -> str:
    return f"{key} holds another type than a hash"


def _why(error: Exception) -> str:
    match error:
        case ValidationError():
            return fields_at_fault(error)
        case CorruptRecord(why=why):
            return why
    return str(error)


def _number(raw: str | None, otherwise: int) -> int:
    return int(raw) if raw and raw.isdecimal() else otherwise


def _text(raw: object) -> dict[str, str]:
    return {str(field): str(value) for field, value in dict(raw).items()}  # type: ignore[call-overload]


_JSON = {"attempts": "[]", "covers": "[]", "folded": "[]", "metadata": "{}", "dead": "[]", "model_attempts": "[]"}
"""Fields of a run that are kept as JSON, and what they are where there is nothing."""


def parse_state(fields: Sequence[str | None] | None, waiting: int | None) -> SessionState:
    """A session's state from its control hash; None stands for a hash that cannot be read."""
    state, run, until, owner, attempt, place = fields or ["unreadable", *[None] * 5]
    waits_for = place or "" if state == "queued" else ""
    return SessionState(
        state or "idle", run or "", _number(until, 0), owner or "", _number(attempt, 1), waiting or 0, waits_for
    )


def parse_run(raw: dict[str, str]) -> Run:
    check_form(raw.get("v"), f"run {raw.get('id')}")
    usage = {field: raw.get(f"usage_{field}", 0) for field in ("input", "output", "cacheRead", "cacheWrite")}
    # Scripts clear a field by writing "", which is no number and no time.
    fields: dict[str, Any] = {name: value for name, value in raw.items() if value != ""}
    for name, nothing in _JSON.items():
        try:
            fields[name] = json.loads(raw.get(name) or nothing)
        except (ValueError, RecursionError) as error:
            raise CorruptRecord("run", f"{name} is not JSON: {error}") from error
    return Run.model_validate({**fields, "usage": usage})


def parse_event(event_id: str, fields: dict[str, str]) -> Event:
    return Event(event_id, fields["type"], int(fields["seq"]), int(fields["at"]), json.loads(fields["data"]))
