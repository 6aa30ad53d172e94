"""Compaction: older messages give way to a summary. When, how much, and the entry that says so.

The log keeps everything. A `CompactionEntry` at its end says how many entries before it the model still sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from openclaw_workers.agent.context import identifiers
from openclaw_workers.agent.context.compaction_plan import Plan, plan, summary_tokens
from openclaw_workers.agent.context.history import repair, visible
from openclaw_workers.agent.context.summaries import (
    BASE,
    Summarise,
    SummaryTask,
    chunk_tokens,
    final,
    gather,
    pieces,
    shortened,
)
from openclaw_workers.agent.context.truncate import FRAME_CHARS, shorter_result
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import CompactionEntry, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.domain.untrusted import neutralise
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.attachments import note

SMALLER = 2
"""How often the parts are halved when the summariser's own requests turn out to be too large."""
LEAST_CHARS = 2 * FRAME_CHARS
"""Of the request that is repeated: with less room, all of it would go to the words around a quotation."""
OMITTED = "A first summary omitted these. They must occur, letter by letter: "


@dataclass(frozen=True, slots=True)
class Context:
    """The model's window, and what of it each request needs beside its messages."""

    window: int
    frame_tokens: int
    estimator: Estimator

    def used(self, log: Sequence[TranscriptEntry]) -> int:
        """Tokens of a request with all that the model sees of this log."""
        return self.frame_tokens + self.estimator.entries(repair(visible(log)))


@dataclass(frozen=True, slots=True)
class Nothing:
    """The conversation stays as it is; trying again before it has grown would end the same way."""

    reason: Literal["nothing to drop", "no summary", "no gain"]


def compact(
    log: Sequence[TranscriptEntry],
    settings: CompactionSettings,
    context: Context,
    summarise: Summarise,
    *,
    now_ms: int,
    run_id: str | None = None,
    focus: str = "",
    force: bool = False,
) -> CompactionEntry | Nothing:
    """The entry to append to this log.

    `log`: the newest entries of the session's log as they are stored, notices and all, at least as far back as the
    model sees. `focus`: what a person asked the summary to attend to. `force`: drop half even if there is room.

    Raises:
        ProviderError, TurnEnded: what `summarise` raised; nothing has changed.
    """
    before = context.used(log)
    planned = plan(log, settings, context.window, context.frame_tokens, context.estimator.entry, force=force)
    if planned is None:
        return Nothing("nothing to drop")
    summary, details = _summary(planned, settings, context, summarise, focus)
    if not summary:
        return Nothing("no summary")
    entry = CompactionEntry(
        summary=summary,
        kept=len(planned.kept),
        request=_request(planned, context),
        tokens_before=before,
        details={"mode": settings.mode, "droppedEntries": len(planned.dropped)} | details,
        timestamp=now_ms,
        run_id=run_id,
    )
    after = context.used([*log, entry])
    return entry.model_copy(update={"tokens_after": after}) if after < before else Nothing("no gain")


def _summary(
    planned: Plan, settings: CompactionSettings, context: Context, summarise: Summarise, focus: str
) -> tuple[str, dict[str, Any]]:
    """The summary, and what there is to say about it. Parts that were too large after all are made smaller."""
    average = context.estimator.entries(planned.dropped) / len(planned.dropped)
    told = [BASE, identifiers.instructions(settings), f"Use at most {summary_tokens(context.window) * 3 // 4} words."]
    told += [f"The user asks you to attend to this: {focus}"] if focus else []
    task = SummaryTask(
        summarise=summarise,
        tokens=context.estimator.text,
        chunk_tokens=chunk_tokens(context.window, average / context.window),
        instructions="\n\n".join(part for part in told if part),
    )
    names = identifiers.expected(planned.dropped) if settings.identifier_policy == "strict" else []
    for _ in range(1 + SMALLER):
        try:
            return _checked(planned, task, names, summary_tokens(context.window))
        except ProviderError as error:
            if error.reason is not FailureReason.CONTEXT_OVERFLOW:
                raise
            task = replace(task, chunk_tokens=task.chunk_tokens // 2)
    return "", {}


def _checked(planned: Plan, task: SummaryTask, names: list[str], most: int) -> tuple[str, dict[str, Any]]:
    """Ask once more if identifiers were omitted, and then add those that still are."""
    gathered = gather(pieces(planned.previous + planned.dropped, task), task)
    summary = final(gathered, task)
    omitted = identifiers.missing(summary, names)
    if omitted or not summary:
        summary = final(gathered, task, OMITTED + ", ".join(omitted) if omitted else "") or summary
    if not summary:
        return "", {}
    # It has read our markers around the conversation, and may write them down as a part of it.
    summary = shortened(neutralise(summary), most, task.tokens)
    still = identifiers.missing(summary, names)
    if still:
        summary += f"\n\nAlso mentioned: {', '.join(still)}"
    return summary, {"identifiersAskedAgain": len(omitted), "identifiersAdded": len(still)}


def _request(planned: Plan, context: Context) -> str:
    """The latest request verbatim, if the message that carried it is dropped."""
    if any(isinstance(entry, UserEntry) for entry in planned.kept):
        return ""
    asked = next((entry for entry in reversed(planned.dropped) if isinstance(entry, UserEntry)), None)
    if asked is None:
        return planned.last_request
    texts = [block.text for block in asked.content if isinstance(block, TextBlock)]
    text = "\n".join([*texts, *map(note, asked.attachments)])
    # Not the plain cut: what others wrote, such as a report of sub-agents, must stay marked as theirs.
    return shortened(text, summary_tokens(context.window) // 2, context.estimator.text, _cut)


def _cut(text: str, most: int) -> str:
    return shorter_result(text, max(most, LEAST_CHARS))
