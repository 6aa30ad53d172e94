"""Trim old tool results, then clear them, once the provider's prompt cache has expired.

Changing an old message makes the provider's cached prompt useless. After a pause longer than the cache's lifetime it
is useless anyway, so that is when results are pruned. The decision depends only on the transcript up to its last such
pause. So all calls of a turn, and all workers, see the same pruned messages. The transcript itself never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from openclaw_workers.agent.context.truncate import has_image, truncate_result, with_text
from openclaw_workers.config.context import ContextPruningSettings, PruneToolsSettings, SoftTrimSettings
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.attachments import note
from openclaw_workers.tools.aliases import canonical

Estimate = Callable[[TranscriptEntry], int]


def prune(
    entries: Sequence[TranscriptEntry],
    settings: ContextPruningSettings,
    *,
    window: int,
    frame_tokens: int,
    estimate: Estimate,
    now_ms: int,
) -> list[TranscriptEntry]:
    """The same entries with some tool results shortened.

    `window`: the model's context window; `frame_tokens`: how much of it the system prompt and the tools take.
    """
    if settings.mode == "off" or ToolResultEntry not in set(map(type, entries)):
        return list(entries)
    end = _last_pause(entries, settings.ttl.total_seconds() * 1000, now_ms)
    if not end:
        return list(entries)
    cold = list(entries[:end])
    prunable = _prunable(cold, settings)
    used = frame_tokens + sum(map(estimate, cold))
    if used >= settings.soft_trim_ratio * window:
        for index in prunable:
            used += _trim(cold, index, settings.soft_trim, estimate)
    if settings.hard_clear.enabled:
        for index in prunable:
            if used < settings.hard_clear_ratio * window:
                break
            used += _clear(cold, index, settings.hard_clear.placeholder, estimate)
    return [*cold, *entries[end:]]


def _last_pause(entries: Sequence[TranscriptEntry], ttl_ms: float, now_ms: int) -> int:
    """How many entries there were when the model was last called after a pause of `ttl`; 0 if it never was.

    A call is assumed to have started when its newest input was written.
    """
    asked, pause = now_ms, len(entries)
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if entry.role == "assistant":
            if entry.timestamp and asked - entry.timestamp >= ttl_ms:
                return pause
            asked, pause = 0, index
        elif entry.timestamp > asked and pause < len(entries) and isinstance(entry, UserEntry | ToolResultEntry):
            asked = entry.timestamp
    return 0


def _prunable(entries: Sequence[TranscriptEntry], settings: ContextPruningSettings) -> list[int]:
    """Indices of prunable tool results, oldest first; none before the first question or of the latest messages."""
    first = next((i for i, entry in enumerate(entries) if isinstance(entry, UserEntry)), len(entries))
    assistants = [i for i, entry in enumerate(entries) if isinstance(entry, AssistantEntry)]
    keep = settings.keep_last_assistants
    if len(assistants) < keep:
        return []
    end = assistants[-keep] if keep else len(entries)
    return [index for index in range(first, end) if _may_prune(entries[index], settings)]


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


def _trim(entries: list[TranscriptEntry], index: int, trim: SoftTrimSettings, estimate: Estimate) -> int:
    entry = entries[index]
    assert isinstance(entry, ToolResultEntry)
    text = truncate_result(entry.text, trim.max_chars, head=trim.head_chars, tail=trim.tail_chars)
    return _replace(entries, index, with_text(entry, text, entry.files), estimate)


def _clear(entries: list[TranscriptEntry], index: int, placeholder: str, estimate: Estimate) -> int:
    """Its files go too, but the model still learns where they are."""
    entry = entries[index]
    assert isinstance(entry, ToolResultEntry)
    text = "\n".join([placeholder, *map(note, entry.files)])
    return _replace(entries, index, with_text(entry, text), estimate)


def _replace(entries: list[TranscriptEntry], index: int, shorter: ToolResultEntry, estimate: Estimate) -> int:
    """Put in a shorter result; return the change of the estimate."""
    entry = entries[index]
    assert isinstance(entry, ToolResultEntry)
    if len(shorter.text) >= len(entry.text) and len(shorter.files) == len(entry.files):
        return 0
    entries[index] = shorter
    return estimate(shorter) - estimate(entry)
