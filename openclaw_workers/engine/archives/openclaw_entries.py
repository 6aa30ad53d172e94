"""Transcript entries in the form in which OpenClaw stores them: each with a type, an id, its parent's id and a time.

Our log is linear, so the parent of an entry is the one before it. What only we know of a message stays in it as a
field that OpenClaw ignores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from openclaw_workers.agent.prompt.texts import REQUEST_HEADING
from openclaw_workers.clock import iso
from openclaw_workers.domain.stored_json import to_json
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    ModelVisibleEntry,
    NoticeEntry,
    ThinkingBlock,
    ToolResultEntry,
    TranscriptEntry,
    Usage,
)

FORMAT_VERSION = 3
"""Of OpenClaw's transcripts."""

Json = dict[str, Any]


def exported_lines(session_id: str, entries: Sequence[TranscriptEntry]) -> Iterator[str]:
    """The entries of one session as lines. An entry has the same id in every export."""
    ids = [_id(session_id, number) for number in range(len(entries))]
    for number, entry in enumerate(entries):
        parent = ids[number - 1] if number else None
        head = {"id": ids[number], "parentId": parent, "timestamp": iso(entry.timestamp)}
        yield to_json(_typed(entry, head, ids[: number + 1]))


def _id(session_id: str, number: int) -> str:
    return hashlib.sha256(f"{session_id}:{number}".encode()).hexdigest()[:16]


def _typed(entry: TranscriptEntry, head: Json, ids: Sequence[str]) -> Json:
    """`ids`: those of all entries up to this one."""
    match entry:
        case NoticeEntry():
            data = {"text": entry.text, "level": entry.level, "runId": entry.run_id}
            return {"type": "custom", **head, "customType": "notice", "data": data}
        case CompactionEntry():
            return {"type": "compaction", **head, **_compaction(entry, ids)}
        case _:
            return {"type": "message", **head, "message": _message(entry)}


def _compaction(entry: CompactionEntry, ids: Sequence[str]) -> Json:
    """If no entry before it is kept, its own id is the first kept one."""
    request = f"\n\n{REQUEST_HEADING}\n{entry.request}" if entry.request else ""
    return {
        "summary": entry.summary + request,
        "firstKeptEntryId": ids[max(0, len(ids) - 1 - entry.kept)],
        "tokensBefore": entry.tokens_before,
        "details": {**entry.details, "tokensAfter": entry.tokens_after, "runId": entry.run_id},
    }


def _message(entry: ModelVisibleEntry) -> Json:
    message = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    match entry:
        case AssistantEntry():
            stored = zip(entry.content, message["content"], strict=True)
            message["content"] = [_block(block, fields) for block, fields in stored]
            message["usage"] = _usage(entry.usage)
            message |= {name: message.get(name, "unknown") for name in ("api", "provider", "model")}
        case ToolResultEntry():
            # A file is only named: its bytes are not in the transcript.
            message["content"] = [{"type": "text", "text": block.text} for block in entry.content]
    return message


def _block(block: object, fields: Json) -> Json:
    if isinstance(block, ThinkingBlock) and block.signature is not None:
        return {"type": "thinking", "thinking": block.thinking, "thinkingSignature": block.signature}
    return fields


def _usage(usage: Usage) -> Json:
    """The ledger has the cost, not the transcript; readers expect the fields."""
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return {**usage.model_dump(by_alias=True), "totalTokens": usage.total, "cost": cost}
