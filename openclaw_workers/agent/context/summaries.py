"""Summarise in stages: if the messages are too many for one call, summarise parts and merge the summaries.

Every message reaches the summariser. If a message is too long for a call, only its start and end are sent, with a note.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openclaw_workers.agent.context.truncate import head_and_tail
from openclaw_workers.agent.context.units import split_by_token_share, units
from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.domain.untrusted import unwrap, wrap
from openclaw_workers.providers.attachments import note

Summarise = Callable[[list[TranscriptEntry], str], str]
"""One model call: messages and instructions in, text out. It raises what the provider raises."""

MARGIN = 1.2
"""Safety factor, because estimates are often too low."""
SHARE, LEAST_SHARE = 0.4, 0.15
"""The share of the window for the messages of one call; it is smaller if single messages are large."""
LEAST_CHUNK = 256


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """What all model calls of one compaction have in common."""

    summarise: Summarise
    tokens: Callable[[str], int]
    chunk_tokens: int
    instructions: str

    @property
    def partial_tokens(self) -> int:
        """A third of a call, so that each round of merging leaves fewer partial summaries."""
        return self.chunk_tokens // 3


def chunk_tokens(window: int, largest_share: float, reserved: int) -> int:
    """How many tokens of the conversation go into one call; `largest_share`: the average message's window share.

    `reserved`: what the call leaves free for its summary.
    """
    share = SHARE
    if largest_share * MARGIN > 0.1:
        share = max(LEAST_SHARE, SHARE - min(2 * largest_share * MARGIN, SHARE - LEAST_SHARE))
    # For the instructions and the frame around the quoted messages.
    overhead = min(4096, window // 8)
    return max(LEAST_CHUNK, int((min(window * share, window - reserved) - overhead) / MARGIN))


def pieces(entries: Sequence[TranscriptEntry], task: SummaryTask) -> list[str]:
    """The conversation as text pieces. A tool call and its results are one piece, unless that is too long."""
    found: list[str] = []
    for unit in units(entries):
        shown = [shorten(text, task.chunk_tokens, task.tokens) for entry in unit if (text := render(entry))]
        whole = "\n\n".join(shown)
        found += [whole] if whole and task.tokens(whole) <= task.chunk_tokens else shown
    return found


def summarise_parts(parts: list[str], task: SummaryTask) -> tuple[list[str], bool]:
    """Summarise parts until the rest fits into one call; return the rest, and whether it consists of summaries."""
    merging = False
    while len(chunks := _chunks(parts, task)) > 1:
        titles = [texts.SUMMARY_PART.format(number=number, count=len(chunks)) for number in range(1, len(chunks) + 1)]
        parts = [
            f"{title}\n{_partial(chunk, task, title, merging=merging)}"
            for chunk, title in zip(chunks, titles, strict=True)
        ]
        merging = True
    return chunks[0], merging


def final_summary(rest: tuple[list[str], bool], task: SummaryTask, more: str = "") -> str:
    """Summarise the rest in one call."""
    chunk, merging = rest
    merge = texts.MERGE_SUMMARIES if merging else ""
    instructions = "\n\n".join(part for part in (task.instructions, merge, more) if part)
    quoted = wrap("\n\n".join(chunk), "earlier conversation")
    return task.summarise([UserEntry(content=[TextBlock(text=quoted)])], instructions).strip()


def _partial(chunk: list[str], task: SummaryTask, words: str, *, merging: bool) -> str:
    """The summary of a part; if the model returns nothing twice, the part itself, shortened."""
    summary = final_summary((chunk, merging), task, words) or final_summary((chunk, merging), task, words)
    return shorten(summary or "\n\n".join(chunk), task.partial_tokens, task.tokens)


def _chunks(parts: list[str], task: SummaryTask) -> list[list[str]]:
    """Split into as few chunks as possible, of about equal size, each small enough for one call."""
    count = 1
    while True:
        split = split_by_token_share(parts, count, task.tokens)
        sizes = [sum(map(task.tokens, chunk)) for chunk in split]
        if count >= len(parts) or max(sizes, default=0) <= task.chunk_tokens:
            return split or [[]]
        # Jump to about the right number, because each try counts all parts again.
        count = max(count + 1, min(len(parts), sum(sizes) // task.chunk_tokens))


def shorten(text: str, most: int, tokens: Callable[[str], int], cut: Callable[[str, int], str] = head_and_tail) -> str:
    """Shorten a text to about this many tokens, keeping its start and end."""
    size = tokens(text)
    # A tenth less than the average says: tokens are not spread evenly over a text.
    return text if size <= most else cut(text, max(200, len(text) * most * 9 // (size * 10)))


def render(entry: TranscriptEntry) -> str:
    """An entry as text for the summariser; empty for entries that no model sees."""
    match entry:
        case UserEntry():
            # Without our markers: the whole conversation is quoted, and inner markers would look forged.
            text = unwrap("\n".join(block.text for block in entry.content))
            return "\n".join([f"[user]\n{text}", *map(note, entry.files)])
        case AssistantEntry():
            calls = (
                f"[assistant calls {call.name}]\n{json.dumps(call.arguments, ensure_ascii=False)}"
                for call in entry.tool_calls
            )
            return "\n".join([*([f"[assistant]\n{entry.text}"] if entry.text or not entry.tool_calls else []), *calls])
        case ToolResultEntry():
            how = "failed" if entry.is_error else "returned"
            return "\n".join([f"[{entry.tool_name} {how}]\n{unwrap(entry.text)}", *map(note, entry.files)])
        case _:
            return ""
