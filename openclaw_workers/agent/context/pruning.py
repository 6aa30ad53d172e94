"""Trim old tool results, then clear them, before a conversation is compacted.

Changing an old message makes the provider's cached prompt useless. So nothing changes below the ratios, and each change
frees enough for several calls. What was pruned before an earlier call stays pruned: the calls are replayed in order,
each with what the conversation was then. So all calls of a turn, and all workers, see the same pruned messages. The
transcript itself never changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from openclaw_workers.agent.context.truncate import has_image, truncate_result, with_text
from openclaw_workers.config.context import ContextPruningSettings, PruneToolsSettings
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.attachments import note
from openclaw_workers.tools.aliases import canonical

Estimate = Callable[[TranscriptEntry], int]

CLEARED_SHARE = 0.1
"""Clearing goes on until this share of the window is free below the limit, so that the next calls change nothing."""


def prune(
    entries: Sequence[TranscriptEntry],
    settings: ContextPruningSettings,
    *,
    window: int,
    frame_tokens: int,
    compact_above: int,
    estimate: Estimate,
    now_ms: int,
    total: Callable[[Sequence[TranscriptEntry]], int] | None = None,
) -> list[TranscriptEntry]:
    """The same entries with some tool results shortened.

    `window`: the model's context window; `frame_tokens`: how much of it the system prompt and the tools take.
    `compact_above`: the size of a request above which the conversation would be compacted.
    `total` sums faster than entry by entry. If nothing is pruned, a list is returned as it is.
    """
    unpruned = entries if isinstance(entries, list) else list(entries)
    if settings.mode == "off" or ToolResultEntry not in set(map(type, entries)):
        return unpruned
    size = total(unpruned) if total else sum(map(estimate, unpruned))
    if frame_tokens + size < settings.soft_trim_ratio * window:
        return unpruned
    replay = _Replay(list(entries), settings, window, compact_above, estimate, used=frame_tokens)
    for index, entry in enumerate(entries):
        if isinstance(entry, AssistantEntry):
            replay.call(replay.asked)
        replay.add(index, entry)
    replay.call(now_ms)
    return replay.shown


@dataclass(slots=True)
class _Replay:
    """The calls of a conversation in order, and what was pruned before each."""

    shown: list[TranscriptEntry]
    settings: ContextPruningSettings
    window: int
    compact_above: int
    estimate: Estimate
    used: int
    """Tokens of the request so far."""
    asked: int = 0
    """When the newest input was written: about when the model was called with it."""
    assistants: list[int] = field(default_factory=list)
    prunable: list[int] = field(default_factory=list)
    """Where results are that may be pruned, oldest first. The first of them are old, trimmed or cleared:"""
    old: int = 0
    trimmed: int = 0
    cleared: int = 0
    has_question: bool = False

    def add(self, index: int, entry: TranscriptEntry) -> None:
        self.used += self.estimate(entry)
        if isinstance(entry, AssistantEntry):
            self.assistants.append(index)
        elif isinstance(entry, UserEntry | ToolResultEntry):
            # Results before the first question stay: there an agent reads the files that say who it is.
            self.has_question = self.has_question or isinstance(entry, UserEntry)
            self.asked = max(self.asked, entry.timestamp)
            if self.has_question and _may_prune(entry, self.settings):
                self.prunable.append(index)

    def call(self, now_ms: int) -> None:
        """Prune what a call at this time needs pruned: results older than the ttl, and before a compaction others."""
        settings, reach = self.settings, self._reach()
        # Results are in order of time, so the first young one ends the search.
        while self.old < reach and self._is_old(self.prunable[self.old], now_ms):
            self.old += 1
        soft, hard = settings.soft_trim_ratio * self.window, settings.hard_clear_ratio * self.window
        for end in (self.old, reach):
            if self.used >= soft and (end == self.old or self.used > self.compact_above):
                self._trim(end)
        if not settings.hard_clear.enabled or self.used < hard:
            return
        goal = min(hard, self.compact_above) - CLEARED_SHARE * self.window
        for end in (self.old, reach):
            if end == self.old or self.used > self.compact_above:
                self._clear(end, goal)

    def _reach(self) -> int:
        """How many results may be pruned: none of the latest assistant messages."""
        keep = self.settings.keep_last_assistants
        if not self.assistants or len(self.assistants) < keep:
            return 0
        return bisect_left(self.prunable, self.assistants[-keep]) if keep else len(self.prunable)

    def _is_old(self, index: int, now_ms: int) -> bool:
        written = self.shown[index].timestamp
        return bool(written) and now_ms - written >= self.settings.ttl.total_seconds() * 1000

    def _trim(self, end: int) -> None:
        trim = self.settings.soft_trim
        for index in self.prunable[self.trimmed : end]:
            entry = self._result(index)
            text = truncate_result(entry.text, trim.max_chars, head=trim.head_chars, tail=trim.tail_chars)
            self._replace(index, with_text(entry, text, entry.files))
        self.trimmed = max(self.trimmed, end)

    def _clear(self, end: int, goal: float) -> None:
        """Clear the oldest until the request is below the goal. Files go too, but the model learns where they are."""
        while self.cleared < end and self.used >= goal:
            index = self.prunable[self.cleared]
            text = "\n".join([self.settings.hard_clear.placeholder, *map(note, self._result(index).files)])
            self._replace(index, with_text(self._result(index), text))
            self.cleared += 1

    def _replace(self, index: int, shorter: ToolResultEntry) -> None:
        entry = self._result(index)
        if len(shorter.text) < len(entry.text) or len(shorter.files) < len(entry.files):
            self.shown[index] = shorter
            self.used += self.estimate(shorter) - self.estimate(entry)

    def _result(self, index: int) -> ToolResultEntry:
        entry = self.shown[index]
        assert isinstance(entry, ToolResultEntry)
        return entry


def _may_prune(entry: TranscriptEntry, settings: ContextPruningSettings) -> bool:
    return (
        isinstance(entry, ToolResultEntry)
        and not has_image(entry)
        and len(entry.text) >= settings.min_prunable_tool_chars
        and _named(entry.tool_name, settings.tools)
    )


def _named(tool: str, tools: PruneToolsSettings) -> bool:
    def matches(pattern: str) -> bool:
        return fnmatchcase(name, canonical(pattern.lower()))

    name = canonical(tool).lower()
    if any(map(matches, tools.deny)):
        return False
    return not tools.allow or any(map(matches, tools.allow))
