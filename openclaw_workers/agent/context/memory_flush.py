"""Memory flush: before old messages are summarised, the agent gets one silent turn to save notes to its memory.

It is a side conversation: the model sees the conversation plus the request to save notes. Only a notice enters the
log. So the flush never stands between a question and its answer, and the model never reads it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from openclaw_workers.agent.context.compaction_plan import trigger_tokens
from openclaw_workers.agent.context.history import last_compaction
from openclaw_workers.agent.output.silent_replies import NO_REPLY
from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.context import CompactionSettings, MemoryFlushSettings
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    NoticeEntry,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    approx_tokens_of,
)
from openclaw_workers.tools.aliases import arguments, canonical

PROVENANCE = "memory-flush"
DONE = "Memory flush before compaction"
"""The start of the notice that marks a cycle as flushed."""

TOOLS = frozenset({"read", "write", "edit", "memory_search", "memory_get", "memory_write"})
"""The tools that the side conversation may use."""
WRITERS = frozenset({"write", "edit", "memory_write"})


def is_due(
    log: Sequence[TranscriptEntry],
    used: int,
    window: int,
    settings: CompactionSettings,
    *,
    tools: Collection[str],
) -> bool:
    """Whether to flush now; `used`: tokens of the next request, `tools`: the names of those the agent has.

    It runs once per cycle; a compaction starts the next cycle.
    """
    flush = settings.memory_flush
    if not flush.enabled or not WRITERS.intersection(tools):
        return False
    near = used >= trigger_tokens(window, settings) - _threshold(flush, window, settings)
    limit = flush.force_flush_transcript_bytes
    return (near or bool(limit and cycle_bytes(log) >= limit)) and not is_flushed(log)


def is_flushed(log: Sequence[TranscriptEntry]) -> bool:
    """Whether this cycle has had its flush, successful or not."""
    return any(isinstance(entry, NoticeEntry) and entry.text.startswith(DONE) for entry in _cycle(log))


def cycle_bytes(log: Sequence[TranscriptEntry]) -> int:
    """About how much was written since the last compaction. (The whole log never shrinks: once it is large, its size
    would force a flush in every cycle.)"""
    return 4 * approx_tokens_of(_cycle(log))


def request(settings: MemoryFlushSettings, now: datetime) -> UserEntry:
    """The request to the agent; `now` is in the user's time zone."""
    text = settings.prompt or texts.MEMORY_FLUSH
    # OpenClaw's prompts have YYYY-MM-DD where ours have {date}.
    text = text.replace("{date}", f"{now:%Y-%m-%d}").replace("YYYY-MM-DD", f"{now:%Y-%m-%d}")
    if NO_REPLY not in text:
        text = f"{text} {texts.MEMORY_FLUSH_HINT}"
    # The system prompt has no time in it, so that it can be cached.
    text += texts.MEMORY_FLUSH_TIME.format(time=f"{now:%Y-%m-%d %H:%M}", zone=now.tzinfo)
    return UserEntry(content=[TextBlock(text=text)], timestamp=int(now.timestamp() * 1000), provenance=PROVENANCE)


def system_addition(settings: MemoryFlushSettings) -> str:
    """Added to the end of the system prompt."""
    return "\n".join(part for part in (texts.MEMORY_FLUSH_SYSTEM, settings.system_prompt) if part)


def written_files(talk: Sequence[TranscriptEntry]) -> list[str]:
    """The files that this side conversation wrote."""
    done = {entry.tool_call_id for entry in talk if isinstance(entry, ToolResultEntry) and not entry.is_error}
    calls = [call for entry in talk if isinstance(entry, AssistantEntry) for call in entry.tool_calls]
    writers = [call for call in calls if canonical(call.name) in WRITERS and call.id in done]
    given = [arguments(call.name, call.arguments) for call in writers]
    return list(dict.fromkeys(str(each.get("path") or each.get("file_path", "")) for each in given))


def notice(saved: Sequence[str], *, failure: str = "", now_ms: int = 0, run_id: str | None = None) -> NoticeEntry:
    """The entry that ends the cycle's flush; `saved`: the files written to."""
    if saved:
        text = f"{DONE}: saved to {', '.join(saved)}" + (f", then failed: {failure}" if failure else "")
    else:
        text = f"{DONE} failed: {failure}" if failure else f"{DONE}: nothing to save"
    return NoticeEntry(text=text, level="warning" if failure else "info", timestamp=now_ms, run_id=run_id)


def _threshold(flush: MemoryFlushSettings, window: int, settings: CompactionSettings) -> int:
    """The soft threshold, but at most a quarter of the room: in a small window it would always be reached."""
    return min(flush.soft_threshold_tokens, trigger_tokens(window, settings) // 4)


def _cycle(log: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
    at = last_compaction(log)
    return log if at is None else log[at + 1 :]
