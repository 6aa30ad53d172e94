"""Part of a transcript for another session to read: bounded, quoted, without secrets and without reasoning."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, ToolResultEntry, TranscriptEntry, UserEntry
from openclaw_workers.domain.untrusted import neutralise, unwrap, wrap
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.store.reader import Reader

MOST_BYTES = 80_000
BLOCK_CHARS = 4_000
READ_PER_MESSAGE = 6
"""Entries read for each message wanted: with tools left out, most of them may be calls and results."""


def excerpt(reader: Reader, session: SessionKey, limit: int, *, include_tools: bool = False) -> dict[str, Any]:
    """The last messages, oldest first; when they are too large together, the oldest are left out and it says so."""
    read = limit if include_tools else limit * READ_PER_MESSAGE
    entries = reader.transcript(session, -max(read, 50), -1)
    messages = [each for entry in entries if (each := _message(entry, session, include_tools)) is not None][-limit:]
    kept: list[dict[str, Any]] = []
    room = MOST_BYTES
    for each in reversed(messages):
        room -= len(json.dumps(each, ensure_ascii=False).encode())
        if room < 0:
            break
        kept.append(each)
    answer: dict[str, Any] = {"messages": kept[::-1]}
    if len(kept) < len(messages):
        answer |= {"truncated": True, "omitted": len(messages) - len(kept)}
    return answer


def _message(entry: TranscriptEntry, session: SessionKey, include_tools: bool) -> dict[str, Any] | None:
    if not isinstance(entry, UserEntry | AssistantEntry | ToolResultEntry):
        return None
    if isinstance(entry, ToolResultEntry) and not include_tools:
        return None
    # Markers in what a session receives are ours; markers in what it says are not.
    bare = str if isinstance(entry, AssistantEntry) else unwrap
    text = "\n".join(_cut(bare(block.text)) for block in entry.content if isinstance(block, TextBlock))
    quoted = wrap(text, f"session {session}") if text else ""
    message: dict[str, Any] = {"role": entry.role, "text": quoted, "timestamp": entry.timestamp}
    if entry.files:
        message["files"] = [neutralise(f"{file.name} ({file.mime_type})") for file in entry.files]
    if isinstance(entry, ToolResultEntry):
        return {**message, "toolName": neutralise(entry.tool_name), "isError": entry.is_error}
    if isinstance(entry, AssistantEntry):
        if include_tools and entry.tool_calls:
            message["toolCalls"] = [
                {"name": neutralise(call.name), "arguments": wrap(_cut(str(call.arguments)), f"session {session}")}
                for call in entry.tool_calls
            ]
        return message if text or "toolCalls" in message else None
    return {**message, "provenance": entry.provenance} if entry.provenance else message


def _cut(text: str) -> str:
    text = mask_secrets(text)
    left_out = len(text) - BLOCK_CHARS
    return text if left_out <= 0 else f"{text[:BLOCK_CHARS]}\n[{left_out:,} more characters left out]"
