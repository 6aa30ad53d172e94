"""Transcript entries for people to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from openclaw_workers.cli.output import printable
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    load_entry,
)
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.engine.archive import sessions_dir, transcript_name

if TYPE_CHECKING:
    from pathlib import Path

    from openclaw_workers.domain.runs import Run
    from openclaw_workers.store.reader import Reader

CLOCKS_APART_MS = 60_000
"""Redis dates some entries and workers date others."""
SHOWN_LINES = 12


def of_run(reader: Reader, run: Run) -> list[TranscriptEntry]:
    """What a run has written so far, read from the end of its session's transcript backwards."""
    found: list[TranscriptEntry] = []
    for page in reader.pages_back(run.session_key):
        found = [entry for entry in page if entry.run_id == run.id] + found
        if page and page[0].timestamp < (run.started_at or run.queued_at) - CLOCKS_APART_MS:
            break
    return found


def of_archived_run(state_dir: Path, run: Run) -> list[TranscriptEntry]:
    """What a run wrote into a life of its session that is over; nothing if that was not written out to this machine."""
    if run.session_id is None:
        return []
    path = sessions_dir(state_dir, run.agent_id) / transcript_name(run.session_id, run.session_key)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[1:]
    except (OSError, UnicodeDecodeError):
        return []
    return [entry for entry in map(_readable, lines) if entry is not None and entry.run_id == run.id]


def life_of(reader: Reader, run: Run) -> Literal["live", "anew", "deleted"]:
    """What became of the session that the run was in."""
    row = reader.row(run.session_key)
    if not row:
        return "deleted"
    return "live" if run.session_id in (None, row.get("sessionId")) else "anew"


def _readable(line: str) -> TranscriptEntry | None:
    try:
        return load_entry(line)
    except ValidationError:
        return None


def entry_lines(entry: TranscriptEntry) -> list[str]:
    """`who: what was said`, later lines indented; long tool results are cut short."""
    match entry:
        case UserEntry():
            return _said("user" + (f" ({entry.provenance})" if entry.provenance else ""), _text(entry.content))
        case AssistantEntry():
            lines = _said("assistant", entry.text) if entry.text else []
            return lines + [line for call in entry.tool_calls for line in _called(call)]
        case ToolResultEntry():
            who = f"{entry.tool_name} {'failed' if entry.is_error else 'returned'}"
            lines = _said(who, unwrap(_text(entry.content)))
            more = len(lines) - SHOWN_LINES
            return lines if more <= 1 else [*lines[:SHOWN_LINES], f"  ({more} more lines; --json has them all)"]
        case NoticeEntry():
            return _said(entry.level, entry.text)
        case CompactionEntry():
            sizes = f"{entry.tokens_before:,} to {entry.tokens_after:,} tokens"
            return _said(f"compaction ({sizes})", entry.summary)


def _text(blocks: list[TextBlock]) -> str:
    return "\n".join(block.text for block in blocks)


def _called(call: ToolCallBlock) -> list[str]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return [f"assistant calls {call.name} {printable(arguments[:200])}{'…' if len(arguments) > 200 else ''}"]


def _said(who: str, text: str) -> list[str]:
    first, *others = printable(text).splitlines() or [""]
    return [f"{who}: {first}", *(f"  {line}".rstrip() for line in others)]
