"""Truncate texts and tool results visibly, so that the model knows something is missing."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.transcript import FileBlock, ImageBlock, TextBlock, ToolResultEntry
from openclaw_workers.domain.untrusted import replace_span, split_quotation

FRAME_CHARS = 1000
"""The markers and runtime text around a quotation are shorter than this."""


def head_and_tail(text: str, most: int, *, head: int | None = None, tail: int | None = None) -> str:
    """The start and end of a text with a note in between, in at most `most` characters.

    The text stays whole if it fits, or if there is no room for the note: nothing is cut without a note.
    """
    start, end, note = _gap(text, most, head, tail)
    return text[:start] + note + text[end:]


def _gap(text: str, most: int, head: int | None, tail: int | None) -> tuple[int, int, str]:
    """The range to leave out, and the note that replaces it."""
    if len(text) <= most:
        return len(text), len(text), ""
    note = texts.TRIMMED.format(chars=len(text))
    room = most - len(note)
    if room <= 0:
        return len(text), len(text), ""
    kept_head = min(room * 7 // 10 if head is None else head, room)
    kept_tail = min(room if tail is None else tail, room - kept_head)
    return kept_head, len(text) - kept_tail, note


def truncate_result(text: str, most: int, *, head: int | None = None, tail: int | None = None) -> str:
    """`head_and_tail` for a tool result. A quotation is cut between its markers, which must stay.

    If the start and the end belong to different quotations, both stay marked and get less room if needed.
    """
    before, quoted, after = split_quotation(text)
    # More text around the quotation than any frame has: it is part of the content, and may be cut too.
    if len(before) + len(after) >= FRAME_CHARS:
        before, quoted, after = "", text, ""
    room = most - len(before) - len(after)
    while True:
        start, end, note = _gap(quoted, room, head, tail)
        cut = replace_span(text, len(before) + start, len(before) + end, note) if note else text
        if len(cut) <= most or not note:
            return cut
        room -= len(cut) - most


def has_image(result: ToolResultEntry) -> bool:
    """Whether it shows an image: that cannot be cut, and may be what the conversation is about."""
    return any(isinstance(block, ImageBlock) for block in result.content)


def with_text(result: ToolResultEntry, text: str, files: Sequence[ImageBlock | FileBlock] = ()) -> ToolResultEntry:
    """A new entry, not a copy: a copy would keep cached values of the old text."""
    return ToolResultEntry(
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        content=[TextBlock(text=text), *files],
        is_error=result.is_error,
        timestamp=result.timestamp,
        run_id=result.run_id,
    )
