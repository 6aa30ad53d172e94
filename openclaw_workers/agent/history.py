"""What of a transcript the model sees: the newest part that fits, always a valid sequence."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.models.transcript import (
    AssistantEntry,
    NoticeEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)

MISSING_RESULT = "[no result was recorded for this call]"


def estimate_tokens(entry: TranscriptEntry) -> int:
    return 0 if isinstance(entry, NoticeEntry) else entry.approx_tokens


def fit(entries: Sequence[TranscriptEntry], budget_tokens: int) -> list[TranscriptEntry]:
    """The newest entries within the budget, starting at a user message; never less than the last one's turn."""
    start, spent = len(entries), 0
    for index in range(len(entries) - 1, -1, -1):
        spent += estimate_tokens(entries[index])
        if spent > budget_tokens and start < len(entries):
            break
        if isinstance(entries[index], UserEntry):
            start = index
    return list(entries[start:])


def repair(entries: Sequence[TranscriptEntry], *, keep_open_tail: bool = False) -> list[TranscriptEntry]:
    """Leave out notices, give every tool call one result directly after it, and drop results without a call.

    `keep_open_tail` leaves the calls of the last assistant message open: they are about to be run.
    """
    seen = [entry for entry in entries if not isinstance(entry, NoticeEntry)]
    last_assistant = max((i for i, entry in enumerate(seen) if isinstance(entry, AssistantEntry)), default=-1)
    repaired: list[TranscriptEntry] = []
    for index, entry in enumerate(seen):
        if isinstance(entry, ToolResultEntry):
            continue
        repaired.append(entry)
        if not isinstance(entry, AssistantEntry) or not entry.tool_calls:
            continue
        found = _results_after(seen, index)
        for call in entry.tool_calls:
            if call.id in found:
                repaired.append(found[call.id])
            elif not (keep_open_tail and index == last_assistant):
                repaired.append(result_for(call, MISSING_RESULT, is_error=True))
    return repaired


def _results_after(entries: Sequence[TranscriptEntry], index: int) -> dict[str, ToolResultEntry]:
    """The first result of each call, up to the next assistant message."""
    found: dict[str, ToolResultEntry] = {}
    for entry in entries[index + 1 :]:
        if isinstance(entry, AssistantEntry):
            break
        if isinstance(entry, ToolResultEntry):
            found.setdefault(entry.tool_call_id, entry)
    return found


def open_calls(entries: Sequence[TranscriptEntry]) -> list[ToolCallBlock]:
    """The calls of the last assistant message that have no result yet, in order."""
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if isinstance(entry, AssistantEntry):
            found = _results_after(entries, index)
            return [call for call in entry.tool_calls if call.id not in found]
    return []


def result_for(call: ToolCallBlock, text: str, *, is_error: bool = False) -> ToolResultEntry:
    return ToolResultEntry(tool_call_id=call.id, tool_name=call.name, content=[TextBlock(text=text)], is_error=is_error)
