"""Transcripts as documents of the index: what people and the agent said, a message at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclaw_workers.config.memory import SessionSourceSettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import Kind, parse_key
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry, UserEntry, load_entry
from openclaw_workers.engine.archives.transcript_files import sessions_dir, transcript_name
from openclaw_workers.memory.chunks import Turn, chunk_turns
from openclaw_workers.memory.index import Reading
from openclaw_workers.memory.scopes import session_scope
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.store.reader import Reader

HEADER_LINES = 1
"""The first line of a transcript file is its header."""
DIRECT = (Kind.MAIN, Kind.DM, Kind.GLOBAL, Kind.OTHER)
BY_PEOPLE = (None, "", "steer")
"""Where the messages of people come from. Others were written by the runtime."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How messages become chunks."""

    tokens: int
    zone: tzinfo
    """Of the user: it decides on which day something was said."""


@dataclass(frozen=True)
class TranscriptDocument:
    """A transcript, live or archived. Only what is new since the last reading is read."""

    path: str
    session_key: str
    """The session at the root of its tree, whose scope the transcript has."""
    count: int
    """Entries there are."""
    time_ms: int
    load: Callable[[int], Sequence[str]]
    """The stored entries from one on."""
    cut: Cut
    source: str = "sessions"
    file_bytes: int = 0
    """The size of its file, if it is archived."""

    @property
    def version(self) -> str:
        return f"{self.count}/{self.file_bytes}" if self.file_bytes else str(self.count)

    def read(self, known: Mapping[str, Any] | None) -> Reading | None:
        start = int((known or {}).get("count", 0))
        turns = list(turns_of(self.load(start), start))
        before = str((known or {}).get("last", ""))
        chunks = chunk_turns(turns, tokens=self.cut.tokens, before=before, zone=self.cut.zone)
        last = turns[-1].text if turns else (known or {}).get("last", "")
        facts = {"count": self.count, "last": last, "session": self.session_key, "fileBytes": self.file_bytes}
        return Reading(chunks, session_scope(self.session_key), facts, is_addition=start > 0)


def turns_of(raws: Sequence[str], start: int = 0) -> Iterator[Turn]:
    """The messages of people and of the agent, each as one line. Secrets are masked."""
    for number, raw in enumerate(raws, start + HEADER_LINES + 1):
        entry = _entry(raw)
        said = said_in(entry) if entry is not None else None
        if said is not None and entry is not None:
            who, text = said
            # Masked before it is indexed: other sessions may find it by a search.
            yield Turn(mask_secrets(f"{who}: {' '.join(text.split())}"), number, entry.timestamp)


def said_in(entry: TranscriptEntry) -> tuple[str, str] | None:
    """Who said what; None for tool calls, notices and messages of the runtime."""
    match entry:
        case UserEntry() if entry.provenance in BY_PEOPLE:
            who = "User"
        case AssistantEntry():
            who = "Assistant"
        case _:
            return None
    text = "\n".join(block.text for block in entry.content if isinstance(block, TextBlock)).strip()
    return (who, text) if text else None


def _entry(raw: str) -> TranscriptEntry | None:
    try:
        return load_entry(raw)
    except ValidationError:
        return None


def lines_of(file: Path) -> list[str]:
    """The entries of a transcript file. Entries may hold other characters that end a line elsewhere."""
    return file.read_text(encoding="utf-8").rstrip("\n").split("\n")[HEADER_LINES:]


class Transcripts:
    """Finds the transcripts that are to be indexed."""

    def __init__(self, reader: Reader, state_dir: Path) -> None:
        self._reader = reader
        self._state_dir = state_dir

    def live(
        self,
        agent_id: str,
        settings: SessionSourceSettings,
        known: Mapping[tuple[str, str], Mapping[str, Any]],
        *,
        cut: Cut,
        force: bool,
    ) -> Iterator[TranscriptDocument]:
        """Transcripts of an agent's sessions; those with few new messages only when `force` is set."""
        for row in self._reader.each_session():
            if row.agent_id != agent_id or not is_indexed(row, settings):
                continue
            document = self._document(row, cut)
            indexed = int(known.get((document.source, document.path), {}).get("count", 0))
            new = document.count - indexed
            if (
                force
                or new >= settings.delta_messages
                or (new and sum(len(raw) for raw in document.load(indexed)) >= settings.delta_bytes)
            ):
                yield document

    def archived(self, agent_id: str, path: str, session_key: str, *, cut: Cut) -> TranscriptDocument | None:
        """The transcript that was written to a file; None if the file is gone."""
        file = self._file(agent_id, path)
        try:
            status = file.stat()
            lines = lines_of(file)
        except OSError:
            return None
        return TranscriptDocument(
            path,
            session_key,
            len(lines),
            int(status.st_mtime * 1000),
            lambda start: lines[start:],
            cut,
            file_bytes=status.st_size,
        )

    def archived_bytes(self, agent_id: str, path: str) -> int:
        """The size of an archived transcript, which only grows; 0 if there is no file."""
        try:
            return self._file(agent_id, path).stat().st_size
        except OSError:
            return 0

    def _file(self, agent_id: str, path: str) -> Path:
        return sessions_dir(self._state_dir, agent_id) / path.removeprefix("sessions/")

    def live_paths(self, agent_id: str) -> set[str]:
        rows = (row for row in self._reader.each_session() if row.agent_id == agent_id)
        return {path_of(row.session_id, row.session_key) for row in rows}

    def _document(self, row: SessionEntry, cut: Cut) -> TranscriptDocument:
        key = SessionKey(row.session_key)
        return TranscriptDocument(
            path_of(row.session_id, row.session_key),
            row.root_session_key or row.session_key,
            self._reader.transcript_length(key),
            row.updated_at,
            lambda start: self._reader.stored_entries(key, start),
            cut,
        )


def path_of(session_id: str, session_key: str) -> str:
    return f"sessions/{transcript_name(session_id, session_key)}"


def is_indexed(row: SessionEntry, settings: SessionSourceSettings) -> bool:
    parsed = parse_key(row.session_key)
    if parsed.kind is Kind.SUBAGENT:
        return settings.subagents
    if parsed.kind in (Kind.GROUP, Kind.CHANNEL):
        return any(name in ("*", row.session_key, parsed.peer) for name in settings.groups)
    return parsed.kind in DIRECT
