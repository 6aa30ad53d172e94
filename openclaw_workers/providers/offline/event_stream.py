"""Shared by both offline models: count tokens, name tool calls, and stream an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import (
    AssistantBlock,
    TextBlock,
    ToolCallBlock,
    Usage,
    UserEntry,
)
from openclaw_workers.providers.base import Answer, ModelRequest, StreamEvent, TextDelta, UsageSoFar

_MAX_PIECES = 8


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    input: dict[str, Any] = field(default_factory=dict)


def estimate_tokens(text: str) -> int:
    """A quarter of the bytes, which is how the offline models count tokens."""
    return _size_bytes(text) // 4 + 1


def _size_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def input_usage(request: ModelRequest) -> Usage:
    """Tokens of the system prompt and of every message; tool schemas are not counted."""
    size_bytes = _size_bytes(request.system)
    # Compares tags, not classes: `isinstance` with a pydantic class takes twice as long when it returns False.
    for entry in request.messages:
        if entry.role == "notice" or entry.role == "compaction":  # noqa: PLR1714 - mypy reads only this form
            continue
        for block in entry.content:
            if block.type == "text":
                size_bytes += _size_bytes(block.text)
            elif block.type == "toolCall":
                size_bytes += _size_bytes(json.dumps(block.arguments))
    return Usage(input=size_bytes // 4 + 1)


def call_blocks(request: ModelRequest, asked: UserEntry | None, calls: Sequence[Call]) -> list[ToolCallBlock]:
    """Create the calls of one answer. The same request gives the same ids; another point of the session, other ids."""
    if not calls:
        return []
    answers = sum(entry.role == "assistant" for entry in request.messages)
    seed = hashlib.sha256(f"{answers}:{request.failed_calls}".encode())
    if asked is not None:
        for part in (str(asked.timestamp), *asked.message_ids, *(block.text for block in asked.content)):
            seed.update(b"\0" + part.encode(errors="surrogatepass"))
    name = seed.hexdigest()[:12]
    return [
        ToolCallBlock(id=f"call_{name}_{index}", name=call.tool, arguments=call.input)
        for index, call in enumerate(calls)
    ]


def pieces(text: str, count: int | None = None) -> list[str]:
    """Split a text into `count` pieces, or by words into at most eight; joined they are the text."""
    parts = list(text) if count is not None else words(text)
    most = _MAX_PIECES if count is None else count
    if len(parts) <= most:
        return parts
    bounds = (len(parts) * n // most for n in range(most + 1))
    return ["".join(parts[start:end]) for start, end in pairwise(bounds)]


def words(text: str) -> list[str]:
    """Split into words, each with the space after it."""
    spaced = text.split(" ")
    return [f"{word} " for word in spaced[:-1]] + [word for word in spaced[-1:] if word]


def deltas(parts: Sequence[str], cancel: Cancel, *, gap_seconds: float = 0) -> Iterator[TextDelta]:
    """Stream the parts, with a pause between two of them."""
    for index, part in enumerate(parts):
        # Not before the first part, so that a viewer sees at once that the answer has begun.
        if index and gap_seconds:
            cancel.wait(gap_seconds)
        else:
            cancel.check()
        yield TextDelta(part)


def answer(text: str, calls: list[ToolCallBlock], so_far: Usage) -> Answer:
    content: list[AssistantBlock] = [TextBlock(text=text)] if text else []
    content += calls
    output_tokens = estimate_tokens(text) + sum(estimate_tokens(json.dumps(c.arguments)) for c in calls)
    usage = Usage(input=so_far.input, output=output_tokens)
    return Answer(content, usage, "toolUse" if calls else "stop")


def counted(request: ModelRequest) -> tuple[Usage, StreamEvent]:
    """The input tokens, and the event that reports them before the call can be abandoned."""
    usage = input_usage(request)
    return usage, UsageSoFar(usage)
