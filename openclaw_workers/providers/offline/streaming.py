"""What both offline models share: counting tokens, naming calls, and answering piece by piece."""

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
    """A quarter of the bytes: the rule of thumb the offline models count by."""
    return _size_bytes(text) // 4 + 1


def _size_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def input_usage(request: ModelRequest) -> Usage:
    """Tokens of the system prompt and of every message; tool schemas are not counted."""
    size_bytes = _size_bytes(request.system)
    # Tags are compared, not classes: `isinstance` of a pydantic class costs twice as much when it says no.
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
    """Name the calls of one answer: the same request gives the same ids, another place in the session others."""
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
    """Split a text so that the pieces joined are the text: into `count` parts, or by words, eight at most."""
    parts = list(text) if count is not None else words(text)
    most = _MAX_PIECES if count is None else count
    if len(parts) <= most:
        return parts
    bounds = (len(parts) * n // most for n in range(most + 1))
    return ["".join(parts[start:end]) for start, end in pairwise(bounds)]


def words(text: str) -> list[str]:
    """Each word with the space after it."""
    spaced = text.split(" ")
    return [f"{word} " for word in spaced[:-1]] + [word for word in spaced[-1:] if word]


def deltas(parts: Sequence[str], cancel: Cancel, *, gap_seconds: float = 0) -> Iterator[TextDelta]:
    """Stream the parts, with a pause between two of them."""
    for index, part in enumerate(parts):
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
    """The input's tokens, and the event that reports them before anything can be abandoned."""
    usage = input_usage(request)
    return usage, UsageSoFar(usage)
