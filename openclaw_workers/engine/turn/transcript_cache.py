"""The part of a transcript that a turn needs, cached for the next turn of the session."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from openclaw_workers.agent.context.history import estimate_tokens, reaches_back, seen_from
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from openclaw_workers.engine.turn.received_files import Receive
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import KnownTranscript, Taken

PAGE = 200
CACHED_ENTRIES = 20_000
"""Parsed entries a process keeps over all sessions: about 20 MB of short messages."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    known: KnownTranscript
    entries: list[TranscriptEntry]
    whole: bool
    """They hold all that the model sees, not only what fitted a budget."""


class TranscriptCache:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._recent: OrderedDict[SessionKey, _Remembered] = OrderedDict()
        self._kept = 0
        self._lock = Lock()

    def known(self, session: SessionKey) -> KnownTranscript:
        """What this process still has of the session's transcript."""
        with self._lock:
            recent = self._recent.get(session)
        return recent.known if recent else KnownTranscript()

    def newest(self, session: SessionKey) -> list[TranscriptEntry]:
        return self._reader.transcript(session, -PAGE, -1)

    def load(
        self, taken: Taken, budget_tokens: int | None, receive: Receive = lambda entries: None
    ) -> list[TranscriptEntry]:
        """The entries that fit the budget; without one, all that the model sees: back to the latest compaction.

        `receive` writes the files of entries that this process has not seen yet.

        The log only grows, so what a process parsed in an earlier turn of the same session is still true. A failover of
        Redis may lose some of it; `take` detects that.
        """
        session = taken.lease.session
        known = self._recall(session)
        entries = self._added(taken, known, receive, whole=budget_tokens is None)
        if entries is None:
            entries = self._read_back(taken, budget_tokens)
            receive(entries)
        if budget_tokens is None:
            entries = entries[seen_from(entries) :] if reaches_back(entries) else entries
        else:
            entries = _newest(entries, budget_tokens)
        self._remember(session, _Remembered(_known_by(taken, known), entries, budget_tokens is None))
        return entries

    def _added(
        self, taken: Taken, known: _Remembered | None, receive: Receive, *, whole: bool
    ) -> list[TranscriptEntry] | None:
        """What was remembered with what came since; None if that does not tell enough."""
        if known is None or not taken.known_holds or (whole and not known.whole):
            return None
        fresh = taken.log_length - known.known.length
        # After more than a page, reading back from the end is cheaper: that stops at the latest compaction.
        if not 0 <= fresh <= PAGE:
            return None
        new = taken.tail[max(0, len(taken.tail) - fresh) :]
        entries = self._reader.entries(taken.lease.session, new)
        if fresh > len(new):  # `take` left out the rest, to keep its answer short
            end = taken.log_length - len(new) - 1
            entries = [*self._reader.transcript(taken.lease.session, known.known.length, end), *entries]
        receive(entries)
        return [*known.entries, *entries]

    def _read_back(self, taken: Taken, budget_tokens: int | None) -> list[TranscriptEntry]:
        session = taken.lease.session
        tail, start = taken.tail, taken.log_length - len(taken.tail)
        entries = self._reader.entries(session, tail)
        spent = sum(map(estimate_tokens, entries))

        def is_enough() -> bool:
            if budget_tokens is None:
                return reaches_back(entries)
            # A request must begin with a user message, so at least one is needed.
            return spent >= budget_tokens and any(isinstance(entry, UserEntry) for entry in entries)

        while start > 0 and not is_enough():
            older = self._reader.transcript(session, max(0, start - PAGE), start - 1)
            spent += sum(map(estimate_tokens, older))
            entries, start = [*older, *entries], max(0, start - PAGE)
        return entries

    def _remember(self, session: SessionKey, recent: _Remembered) -> None:
        with self._lock:
            self._recent[session] = recent
            self._kept += len(recent.entries)
            # The newest session stays, however long: its next turn would read all of it again.
            while self._kept > CACHED_ENTRIES and len(self._recent) > 1:
                _, oldest = self._recent.popitem(last=False)
                self._kept -= len(oldest.entries)

    def _recall(self, session: SessionKey) -> _Remembered | None:
        with self._lock:
            recent = self._recent.pop(session, None)
            self._kept -= len(recent.entries) if recent else 0
        return recent


def _known_by(taken: Taken, before: _Remembered | None) -> KnownTranscript:
    """How the transcript of a turn is known again: by its session, its length and its last entry."""
    if not taken.tail and taken.known_holds and before is not None:
        return before.known  # nothing came since
    digest = hashlib.sha1(taken.tail[-1].encode(), usedforsecurity=False).hexdigest() if taken.tail else ""
    return KnownTranscript(taken.row.get("sessionId", ""), taken.log_length, digest)


def _newest(entries: list[TranscriptEntry], budget_tokens: int) -> list[TranscriptEntry]:
    """The newest entries about within the budget, and in any case the whole of the last turn."""
    spent, asked = 0, False
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        spent += entry.approx_tokens
        asked = asked or entry.role == "user"
        if spent > budget_tokens and asked:
            return entries[index:]
    return entries
