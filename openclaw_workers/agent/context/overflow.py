"""When a request was too large after all: compact, then cut tool results, then say clearly that it cannot go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from openclaw_workers.agent.context.truncate import is_only_text, result_text, shorter_result, with_text
from openclaw_workers.domain.transcript import ToolResultEntry, TranscriptEntry
from openclaw_workers.errors import FailureReason, ProviderError

MOST_COMPACTIONS = 2
RESULT_SHARE = 0.5
"""Of the window: no single tool result is shown larger than that, overflow or not."""
LEAST_CHARS = 2000
"""What is left of a result at least: less would be of no use."""


class Step(StrEnum):
    COMPACT = "compact"  # forced, then ask again
    TRUNCATE = "truncate"  # cut tool results until the request fits, then ask again
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Recovery:
    """How far a turn has gone to make its requests fit. It only goes forward, so a turn cannot try for ever."""

    compactions: int = 0
    truncates: bool = False
    gave_up: bool = False

    def overflowed(self, *, can_compact: bool) -> tuple[Step, Recovery]:
        """What to do about an overflow error; `can_compact`: whether a compaction has not yet achieved nothing."""
        if can_compact and not self.truncates and not self.gave_up and self.compactions < MOST_COMPACTIONS:
            return Step.COMPACT, replace(self, compactions=self.compactions + 1)
        if not self.truncates and not self.gave_up:
            return Step.TRUNCATE, replace(self, truncates=True)
        return Step.GIVE_UP, replace(self, gave_up=True)


def cut_results(
    entries: list[TranscriptEntry],
    budget_tokens: int,
    window: int,
    estimate: Callable[[TranscriptEntry], int],
    total: Callable[[Sequence[TranscriptEntry]], int] | None = None,
) -> list[TranscriptEntry]:
    """Tool results cut visibly: each to its share of the window, and all as far as the budget asks for.

    `budget_tokens`: what the messages of a request may take; a large number cuts only what is oversized by itself.
    `total` sums up faster than entry by entry. Where nothing is cut, it is the same list.
    """
    places = enumerate(entries) if ToolResultEntry in set(map(type, entries)) else ()
    results = [(place, entry) for place, entry in places if isinstance(entry, ToolResultEntry)]
    most = int(window * RESULT_SHARE)
    while True:
        cut = {place: shorter for place, entry in results if (shorter := _cut(entry, most, estimate)) is not entry}
        shown = [cut.get(place, entry) for place, entry in enumerate(entries)] if cut else entries
        if (total(shown) if total else sum(map(estimate, shown))) <= budget_tokens or most < 1:
            return shown
        most //= 2


def _cut(entry: ToolResultEntry, most: int, estimate: Callable[[TranscriptEntry], int]) -> ToolResultEntry:
    if not is_only_text(entry):
        return entry
    size = estimate(entry)
    text = result_text(entry)
    chars = max(LEAST_CHARS, len(text) * most * 9 // (max(1, size) * 10))
    return with_text(entry, shorter_result(text, chars)) if size > most and len(text) > chars else entry


def too_large(used: int, window: int) -> ProviderError:
    """The error that ends the turn."""
    return ProviderError(
        f"the conversation does not fit into the model's context: about {used:,} of {window:,} tokens, and summarising "
        "it and cutting tool results did not help",
        reason=FailureReason.CONTEXT_OVERFLOW,
        hint="start anew with /new, send less at once, or choose a model with a larger context",
    )
