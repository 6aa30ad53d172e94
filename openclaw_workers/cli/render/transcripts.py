"""Transcript entries as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openclaw_workers.cli.render.text import printable
from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    Attachment,
    CompactionEntry,
    NoticeEntry,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    load_entry,
)
from openclaw_workers.domain.untrusted import unwrap

RESULT_LINES = 12
ARGUMENT_CHARS = 200


def entry_of(fields: Mapping[str, Any]) -> TranscriptEntry:
    """An entry from its JSON."""
    return load_entry(json.dumps(fields))


def entry_lines(entry: TranscriptEntry) -> list[str]:
    """`role: text`, with further lines indented. Long tool results are cut."""
    match entry:
        case UserEntry():
            role = "user" + (f" ({entry.provenance})" if entry.provenance else "")
            return _lines(role, "\n".join([*(unwrap(block.text) for block in entry.content), *map(_file, entry.files)]))
        case AssistantEntry():
            lines = _lines("assistant", entry.text) if entry.text else []
            return lines + [_call_line(call) for call in entry.tool_calls]
        case ToolResultEntry():
            role = f"{entry.tool_name} {'failed' if entry.is_error else 'returned'}"
            lines = _lines(role, unwrap(entry.text))
            files = [f"  {printable(_file(file))}" for file in entry.files]
            more = len(lines) - RESULT_LINES
            if more > 1:
                lines = [*lines[:RESULT_LINES], f"  ({more} more lines; --json has them all)"]
            return lines + files
        case NoticeEntry():
            return _lines(entry.level, entry.text)
        case CompactionEntry():
            sizes = f"{entry.tokens_before:,} to {entry.tokens_after:,} tokens"
            return _lines(f"compaction ({sizes})", entry.summary)


def _file(file: Attachment) -> str:
    return f"[{file.mime_type} {file.path}]"


def _call_line(call: ToolCallBlock) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"assistant calls {call.name} {printable(shorten(arguments, ARGUMENT_CHARS))}"


def _lines(role: str, text: str) -> list[str]:
    first, *others = printable(text).splitlines() or [""]
    return [f"{role}: {first}", *(f"  {line}".rstrip() for line in others)]
