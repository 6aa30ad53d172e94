"""What to do if the API rejects a request as too large: compact, then cut tool results, then give up clearly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from openclaw_workers.agent.context.truncate import truncate_result, with_text
from openclaw_workers.domain.transcript import ToolResultEntry, TranscriptEntry
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.attachments import note

MOST_COMPACTIONS = 2
RESULT_SHARE = 0.5
"""The largest share of the window for a single tool result, whether there was an overflow or not."""
LEAST_CHARS = 2000
"""The minimum length of a cut result: less would be useless."""


class Step(StrEnum):
    COMPACT = "compact"  # forced, then ask again
    TRUNCATE = "truncate"  # cut tool results until the request fits, then ask again
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a turn has already tried to make its requests fit. It only moves forward, so a turn cannot loop."""

    compactions: int = 0
    truncates: bool = False
    gave_up: bool = False

    def overflowed(self, *, can_compact: bool) -> tuple[Step, Recovery]:
        """Choose the next step after an overflow; `can_compact`: whether compaction may still help."""
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
    """Cut tool results, with visible notes: each to its share of the window, and all until the budget holds.

    If their text is not enough, files are named instead of sent, the oldest first.
    `budget_tokens`: what the messages of a request may take; with a large number only oversized results are cut.
    `total` sums faster than entry by entry. If nothing is cut, the same list is returned.
    """
    # The cheap check first: this runs for every request, and many have no tool results.
    places = enumerate(entries) if ToolResultEntry in set(map(type, entries)) else ()
    results = [(place, entry) for place, entry in places if isinstance(entry, ToolResultEntry)]
    most = int(window * RESULT_SHARE)
    while True:
        cut = {place: shorter for place, entry in results if (shorter := _cut(entry, most, estimate)) is not entry}
        shown = [cut.get(place, entry) for place, entry in enumerate(entries)] if cut else entries
        excess = (total(shown) if total else sum(map(estimate, shown))) - budget_tokens
        if excess <= 0:
            return shown
        if most < 1:
            return _without_files(shown, excess, estimate)
        most //= 2


def _cut(entry: ToolResultEntry, most: int, estimate: Callable[[TranscriptEntry], int]) -> ToolResultEntry:
    size = estimate(entry)
    text = entry.text
    # A tenth less than the average says: tokens are not spread evenly, and the note takes some too.
    chars = max(LEAST_CHARS, len(text) * most * 9 // (max(1, size) * 10))
    return with_text(entry, truncate_result(text, chars), entry.files) if size > most and len(text) > chars else entry


def _without_files(
    entries: list[TranscriptEntry], excess: int, estimate: Callable[[TranscriptEntry], int]
) -> list[TranscriptEntry]:
    """Replace the files of results by notes until this many tokens are saved."""
    named: dict[int, ToolResultEntry] = {}
    for place, entry in enumerate(entries):
        if excess <= 0:
            break
        if isinstance(entry, ToolResultEntry) and entry.files:
            named[place] = with_text(entry, "\n".join([entry.text, *map(note, entry.files)]))
            excess -= estimate(entry) - estimate(named[place])
    return [named.get(place, entry) for place, entry in enumerate(entries)] if named else entries


def too_large(used: int, window: int) -> ProviderError:
    """The error that ends the turn."""
    return ProviderError(
        f"the conversation does not fit into the model's context: about {used:,} of {window:,} tokens, and summarising "
        "it and cutting tool results did not help",
        reason=FailureReason.CONTEXT_OVERFLOW,
        hint="start a new session with /new, send less at once, or choose a model with a larger context",
    )
