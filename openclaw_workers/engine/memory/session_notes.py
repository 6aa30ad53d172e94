"""Saves the end of a conversation to memory when it was reset: memory/2026-01-31-<slug>.md.

A service worker does it after the reset, from the archived transcript, so that nobody waits for it. The model only
names the file; without its answer the time of day does.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import structlog
from pydantic import ValidationError

from openclaw_workers.clock import zone_of
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import TextBlock, TranscriptEntry, UserEntry, load_entry
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.archives.transcript_files import sessions_dir, transcript_name
from openclaw_workers.engine.memory.client import MemoryAccess, MemoryUnavailable
from openclaw_workers.engine.memory.slugs import SlugModel
from openclaw_workers.engine.memory.transcripts import lines_of, path_of, said_in
from openclaw_workers.errors import NotFound
from openclaw_workers.memory.files import SESSION_LINE
from openclaw_workers.memory.scopes import is_peer, peer_folder
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.store.memory_notes import MemoryNote, MemoryNotes

log = structlog.get_logger(__name__)

MESSAGES = 15
SLUG_CHARS = 30
# Two deliveries of the same task would both find no note, and write two.
_SAVING = threading.Lock()


class SessionNotes:
    def __init__(
        self,
        notes: MemoryNotes,
        agents: AgentConfigs,
        state_dir: Path,
        slugs: SlugModel,
        access: MemoryAccess,
        *,
        workspace_of: Callable[[SessionKey], Path],
    ) -> None:
        """`workspace_of`: where the files of a session are, in its sandbox if it has one."""
        self._workspace_of = workspace_of
        self._notes = notes
        self._agents = agents
        self._state_dir = state_dir
        self._slugs = slugs
        self._access = access

    def save(self, session_id: str) -> Path | None:
        """Write the note, unless it is written; None if there is nothing to save, or the transcript is not there yet.

        Raises:
            OSError: it cannot be written; it stays due.
        """
        note = self._notes.find(session_id)
        if note is None or note.is_done or not self._notes.is_archived(session_id):
            return None
        try:
            agent = self._agents.resolve(note.agent_id)
        except NotFound:
            self._notes.done(session_id)
            return None
        with _SAVING:
            path = self._write(note, agent)
        # Before it is indexed: the index finds the file by itself sooner or later.
        self._notes.done(session_id)
        try:
            finished = (path_of(session_id, note.session_key), note.session_key)
            self._access.sync(agent.id, finished=[finished])
        except MemoryUnavailable as error:
            log.info("memory.note_not_indexed", sessionId=session_id, error=error.message)
        return path

    def _write(self, note: MemoryNote, agent: AgentConfig) -> Path | None:
        messages = self._messages(note)
        if not any(who == "User" for who, _ in messages):
            return None
        at = datetime.fromtimestamp(note.at_ms / 1000, zone_of(agent.user_timezone))
        folder = self._workspace_of(SessionKey(note.session_key)) / "memory"
        if is_peer(note.session_key):
            folder = folder / "peers" / peer_folder(note.session_key)
        folder.mkdir(parents=True, exist_ok=True)
        if written := _written(folder, note.session_id):
            return written
        slug = _slug(self._slugs.ask(agent, SessionKey(note.session_key), note.session_id, _quoted(messages)))
        name = f"{at:%Y-%m-%d}-{slug or f'{at:%H%M}'}"
        return _create(folder, name, _text(note, at, messages))

    def _messages(self, note: MemoryNote) -> list[tuple[str, str]]:
        file = sessions_dir(self._state_dir, note.agent_id) / transcript_name(note.session_id, note.session_key)
        try:
            lines = lines_of(file)
        except FileNotFoundError:
            return []
        entries = [entry for entry in map(_entry, lines) if entry is not None]
        said = [found for entry in entries if not _is_command(entry) and (found := said_in(entry))]
        return [(who, mask_secrets(text)) for who, text in said][-MESSAGES:]


def _entry(line: str) -> TranscriptEntry | None:
    try:
        return load_entry(line)
    except ValidationError:
        return None


def _is_command(entry: TranscriptEntry) -> bool:
    if not isinstance(entry, UserEntry):
        return False
    return "".join(block.text for block in entry.content if isinstance(block, TextBlock)).lstrip().startswith("/")


def _quoted(messages: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{who}: {' '.join(text.split())}" for who, text in messages)


def _text(note: MemoryNote, at: datetime, messages: Sequence[tuple[str, str]]) -> str:
    head = [
        f"# Conversation of {at:%Y-%m-%d %H:%M} ({at.tzinfo})",
        "",
        f"{SESSION_LINE}`{note.session_key}`",
        f"- Session id: `{note.session_id}`",
        "",
        "## What was said",
        "",
    ]
    return "\n".join([*head, *(f"**{who}**: {text}\n" for who, text in messages)])


def _slug(words: str) -> str:
    """A name of lower-case words: letters and digits of any script, joined by hyphens."""
    found = re.findall(r"[^\W_]+", words.lower())
    slug = ""
    for word in found:
        if len(slug) + len(word) + 1 > SLUG_CHARS:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug


def _written(folder: Path, session_id: str) -> Path | None:
    """The note of this session, if it was written before."""
    line = f"- Session id: `{session_id}`"
    for path in sorted(folder.glob("????-??-??-*.md"), reverse=True)[:200]:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                if line in file.read(1_024):
                    return path
        except OSError:
            continue
    return None


def _create(folder: Path, name: str, text: str) -> Path:
    """Write a new file; another note of that name stays as it is. It appears whole or not at all."""
    temporary = folder / f".{name}.writing"
    temporary.write_text(text, encoding="utf-8")
    for number in range(1, 1_000):
        path = folder / (f"{name}.md" if number == 1 else f"{name}-{number}.md")
        try:
            # A link fails if the name is taken, while a rename would replace the other note.
            path.hardlink_to(temporary)
        except FileExistsError:
            continue
        temporary.unlink()
        return path
    temporary.unlink()
    raise OSError(f"{folder} holds a thousand notes named {name}")
