"""Split a conversation into parts without separating a tool call from its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, TranscriptEntry

T = TypeVar("T")


def units(entries: Sequence[TranscriptEntry]) -> list[list[TranscriptEntry]]:
    """The smallest pieces that must stay together: an assistant message with its results, or a single entry."""
    found: list[list[TranscriptEntry]] = []
    index = 0
    while index < len(entries):
        end = _unit_end(entries, index)
        found.append(list(entries[index:end]))
        index = end
    return found


def _unit_end(entries: Sequence[TranscriptEntry], index: int) -> int:
    entry, end = entries[index], index + 1
    wanted = {call.id for call in entry.tool_calls} if isinstance(entry, AssistantEntry) else set()
    for later in range(index + 1, len(entries)):
        following = entries[later]
        if not wanted or isinstance(following, AssistantEntry):
            break
        if isinstance(following, ToolResultEntry) and following.tool_call_id in wanted:
            wanted.discard(following.tool_call_id)
            end = later + 1
    return end


def split_by_token_share(pieces: Sequence[T], parts: int, tokens: Callable[[T], int]) -> list[list[T]]:
    """Split into at most `parts` non-empty runs of about equal size, in order."""
    sizes = [tokens(piece) for piece in pieces]
    share = sum(sizes) / max(1, parts)
    split: list[list[T]] = []
    size = 0
    for number, piece in enumerate(pieces):
        full = size + sizes[number] / 2 > share
        if not split or (full and size and len(split) < parts):
            split.append([])
            size = 0
        split[-1].append(piece)
        size += sizes[number]
    return split
