"""Texts cut so that the model can see that they were, and tool results that carry them."""

from __future__ import annotations

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.transcript import TextBlock, ToolResultEntry
from openclaw_workers.domain.untrusted import replace_span, split_quotation

FRAME_CHARS = 1000
"""What stands around a quotation is fewer characters than that: markers, and words of the runtime."""


def head_and_tail(text: str, most: int, *, head: int | None = None, tail: int | None = None) -> str:
    """Start and end with a note between them, in no more than `most` characters.

    The text itself if it fits, or if the limit has no room for the note: nothing is cut unseen.
    """
    start, end, note = _gap(text, most, head, tail)
    return text[:start] + note + text[end:]


def _gap(text: str, most: int, head: int | None, tail: int | None) -> tuple[int, int, str]:
    """What to leave out, and the note that says so."""
    if len(text) <= most:
        return len(text), len(text), ""
    note = texts.TRIMMED.format(chars=len(text))
    room = most - len(note)
    if room <= 0:
        return len(text), len(text), ""
    kept_head = min(room * 7 // 10 if head is None else head, room)
    kept_tail = min(room if tail is None else tail, room - kept_head)
    return kept_head, len(text) - kept_tail, note


def shorter_result(text: str, most: int, *, head: int | None = None, tail: int | None = None) -> str:
    """`head_and_tail` of a tool's result. A quotation is cut inside of its markers, which must not go.

    Where the start and the end are of different quotations, both are marked; they get less room if need be.
    """
    before, quoted, after = split_quotation(text)
    if len(before) + len(after) >= FRAME_CHARS:
        before, quoted, after = "", text, ""
    room = most - len(before) - len(after)
    while True:
        start, end, note = _gap(quoted, room, head, tail)
        cut = replace_span(text, len(before) + start, len(before) + end, note) if note else text
        if len(cut) <= most or not note:
            return cut
        room -= len(cut) - most


def is_only_text(result: ToolResultEntry) -> bool:
    """Anything else, such as an image, cannot be cut and may be what the conversation is about."""
    return all(isinstance(block, TextBlock) for block in result.content)


def result_text(result: ToolResultEntry) -> str:
    return "\n".join(block.text for block in result.content)


def with_text(result: ToolResultEntry, text: str) -> ToolResultEntry:
    """Made anew and not copied: a copy would carry what was derived from the old text."""
    return ToolResultEntry(
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        content=[TextBlock(text=text)],
        is_error=result.is_error,
        timestamp=result.timestamp,
        run_id=result.run_id,
    )
