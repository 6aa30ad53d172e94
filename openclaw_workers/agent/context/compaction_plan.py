"""When to compact, and where to cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openclaw_workers.agent.context.history import last_compaction, seen_from, summary_message
from openclaw_workers.agent.context.units import split_by_token_share, units
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, TranscriptEntry

TRIGGER = 0.8
"""A conversation that uses more than this share of the window is compacted."""
MIN_SUMMARY = 128
"""The fewest tokens for a summary, also where nothing is reserved for one."""
GROWTH = 1.05
"""How much the droppable part must grow before a futile compaction is tried again."""

Estimate = Callable[[TranscriptEntry], int]
Unit = list[TranscriptEntry]


@dataclass(frozen=True, slots=True)
class Plan:
    """`dropped` and `kept` together are what the model sees of the log now, in order."""

    dropped: list[TranscriptEntry]
    kept: list[TranscriptEntry]
    previous: list[TranscriptEntry]
    """The earlier summary, which the new one replaces."""
    last_request: str = ""


def reserved_tokens(window: int, settings: CompactionSettings) -> int:
    """What every request leaves free: room for an answer, and for the summary; at most half of the window."""
    reserve = max(settings.reserve_tokens_floor, min(settings.reserve_tokens, window // 8))
    return min(reserve, window // 2)


def limit_tokens(window: int, settings: CompactionSettings) -> int:
    """The largest request that leaves the reserve free."""
    return window - reserved_tokens(window, settings)


def trigger_tokens(window: int, settings: CompactionSettings) -> int:
    """The size of a request above which the conversation is compacted."""
    return min(int(window * TRIGGER), limit_tokens(window, settings))


def is_due(used: int, window: int, settings: CompactionSettings) -> bool:
    """Whether to compact now."""
    return used > trigger_tokens(window, settings)


def has_grown(old: int, futile_at: int) -> bool:
    """Whether to retry a compaction that was futile at `futile_at` old tokens; `old`: how many there are now."""
    return old > futile_at * GROWTH


def summary_tokens(window: int, settings: CompactionSettings) -> int:
    """How long a summary may be: as long as the reserve, but not most of what may stay in a small window."""
    return max(MIN_SUMMARY, min(reserved_tokens(window, settings), window // 4))


def history_tokens(window: int, frame_tokens: int, settings: CompactionSettings) -> int:
    """How many tokens of the conversation may stay verbatim."""
    room = max(0, trigger_tokens(window, settings) - frame_tokens)
    summary = summary_tokens(window, settings)
    if settings.mode == "default":
        # Leave a quarter of the room free; otherwise the next message would trigger the next compaction.
        return max(0, min(settings.keep_recent_tokens, room * 3 // 4 - summary))
    return max(0, min(int(window * settings.max_history_share), room) - summary)


def plan(
    log: Sequence[TranscriptEntry],
    settings: CompactionSettings,
    window: int,
    frame_tokens: int,
    estimate: Estimate,
    *,
    force: bool = False,
) -> Plan | None:
    """Decide where to cut; None if nothing can be dropped. The newest message and its tool results always stay."""
    seen = list(log[seen_from(log) :])
    pieces = units(seen)
    # Not simply the last unit: notices may follow the newest message.
    newest = max((i for i, unit in enumerate(pieces) if _is_seen(unit)), default=0)

    def tokens(unit: Unit) -> int:
        return sum(map(estimate, unit))

    most = history_tokens(window, frame_tokens, settings)
    if force:
        most = min(most, sum(map(tokens, pieces)) // 2)
    cut = (_latest if settings.mode == "default" else _halved)(pieces, most, tokens)
    dropped = [entry for unit in pieces[: min(cut, newest)] for entry in unit]
    if not _is_seen(dropped):
        return None
    at = last_compaction(log)
    before = log[at] if at is not None else None
    previous = [summary_message(before)] if isinstance(before, CompactionEntry) else []
    request = before.request if isinstance(before, CompactionEntry) else ""
    return Plan(dropped, seen[len(dropped) :], list(previous), request)


def _latest(pieces: Sequence[Unit], most: int, tokens: Callable[[Unit], int]) -> int:
    """Mode default: keep as many of the newest pieces as fit."""
    size = 0
    for index in range(len(pieces) - 1, -1, -1):
        size += tokens(pieces[index])
        if size > most:
            return index + 1
    return 0


def _halved(pieces: Sequence[Unit], most: int, tokens: Callable[[Unit], int]) -> int:
    """Mode safeguard: drop the older half until the rest fits."""
    cut = 0
    while cut < len(pieces) and sum(map(tokens, pieces[cut:])) > most:
        cut += len(split_by_token_share(pieces[cut:], 2, tokens)[0])
    return cut


def _is_seen(entries: Sequence[TranscriptEntry]) -> bool:
    return any(not isinstance(entry, NoticeEntry | CompactionEntry) for entry in entries)
