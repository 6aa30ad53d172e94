"""Compaction: replace older messages by a summary.

The log keeps everything. A `CompactionEntry` at its end says how many entries before it the model still sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from openclaw_workers.agent.context import identifiers
from openclaw_workers.agent.context.compaction_plan import Plan, plan, reserved_tokens, summary_tokens
from openclaw_workers.agent.context.history import repair, visible
from openclaw_workers.agent.context.summaries import (
    Summarise,
    SummaryTask,
    chunk_tokens,
    final_summary,
    pieces,
    shorten,
    summarise_parts,
)
from openclaw_workers.agent.context.truncate import FRAME_CHARS, truncate_result
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import CompactionEntry, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.domain.untrusted import neutralise
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.attachments import note

MAX_HALVINGS = 2
"""How often the parts are halved if the summariser's own requests turn out to be too large."""
MIN_REQUEST_CHARS = 2 * FRAME_CHARS
"""Minimum length of the repeated request: with less room, only the markers around a quotation would fit."""


@dataclass(frozen=True, slots=True)
class Context:
    """The model's window, and how much of it each request needs besides its messages."""

    window: int
    frame_tokens: int
    estimator: Estimator

    def used(self, log: Sequence[TranscriptEntry]) -> int:
        """Tokens of a request with everything that the model sees of this log."""
        return self.frame_tokens + self.estimator.entries(repair(visible(log)))


@dataclass(frozen=True, slots=True)
class NotCompacted:
    """The conversation stays as it is. Trying again before it has grown would have the same result."""

    reason: Literal["nothing to drop", "no summary", "no gain", "a plugin blocked it"]


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
) -> CompactionEntry | NotCompacted:
    """Summarise older entries; return the entry to append to the log.

    `log`: the newest entries of the session's log as stored, including notices, at least as far back as the model
    sees. `focus`: what a person asked the summary to focus on. `force`: drop half even if there is room.

    Raises:
        ProviderError, TurnEnded: `summarise` raised it; nothing has changed.
    """
    before = context.used(log)
    planned = plan(log, settings, context.window, context.frame_tokens, context.estimator.entry, force=force)
    if planned is None:
        return NotCompacted("nothing to drop")
    summary, details = _summary(planned, settings, context, summarise, focus)
    if not summary:
        return NotCompacted("no summary")
    entry = CompactionEntry(
        summary=summary,
        kept=len(planned.kept),
        request=_request(planned, context, summary_tokens(context.window, settings) // 2),
        tokens_before=before,
        details={"mode": settings.mode, "droppedEntries": len(planned.dropped)} | details,
        timestamp=now_ms,
        run_id=run_id,
    )
    after = context.used([*log, entry])
    # With short messages the summary can be longer than what it replaces.
    return entry.model_copy(update={"tokens_after": after}) if after < before else NotCompacted("no gain")


def _summary(
    planned: Plan, settings: CompactionSettings, context: Context, summarise: Summarise, focus: str
) -> tuple[str, dict[str, Any]]:
    """The summary and details about it. If the parts are too large for the model, they are halved."""
    average = context.estimator.entries(planned.dropped) / len(planned.dropped)
    most = summary_tokens(context.window, settings)
    length = texts.SUMMARY_LENGTH.format(words=most * 3 // 4)
    instructions = [texts.SUMMARISE, identifiers.instructions(settings), length]
    if focus:
        instructions.append(texts.SUMMARY_FOCUS.format(focus=focus))
    task = SummaryTask(
        summarise=summarise,
        tokens=context.estimator.text,
        chunk_tokens=chunk_tokens(context.window, average / context.window, reserved_tokens(context.window, settings)),
        instructions="\n\n".join(part for part in instructions if part),
    )
    names = identifiers.expected(planned.dropped) if settings.identifier_policy == "strict" else []
    for _ in range(1 + MAX_HALVINGS):
        try:
            return _checked(planned, task, names, most)
        except ProviderError as error:
            if error.reason is not FailureReason.CONTEXT_OVERFLOW:
                raise
            # The estimate was too low: the API counts more tokens than we do.
            task = replace(task, chunk_tokens=task.chunk_tokens // 2)
    return "", {}


def _checked(planned: Plan, task: SummaryTask, names: list[str], most: int) -> tuple[str, dict[str, Any]]:
    """Ask again if the summary omits identifiers; then append those that are still missing."""
    rest = summarise_parts(pieces(planned.previous + planned.dropped, task), task)
    summary = final_summary(rest, task)
    omitted = identifiers.missing(summary, names)
    if omitted or not summary:
        more = texts.IDENTIFIERS_OMITTED + ", ".join(omitted) if omitted else ""
        summary = final_summary(rest, task, more) or summary
    if not summary:
        return "", {}
    # The model has seen our markers around the conversation and may have copied them into the summary.
    summary = shorten(neutralise(summary), most, task.tokens)
    still = identifiers.missing(summary, names)
    if still:
        summary += texts.IDENTIFIERS_ADDED.format(names=", ".join(still))
    return summary, {"identifiersAskedAgain": len(omitted), "identifiersAdded": len(still)}


def _request(planned: Plan, context: Context, most: int) -> str:
    """The latest request verbatim, if its message is dropped; shortened to about `most` tokens."""
    if any(isinstance(entry, UserEntry) for entry in planned.kept):
        return ""
    asked = next((entry for entry in reversed(planned.dropped) if isinstance(entry, UserEntry)), None)
    if asked is None:
        return planned.last_request
    lines = [block.text for block in asked.content if isinstance(block, TextBlock)]
    text = "\n".join([*lines, *map(note, asked.attachments)])
    # Cut inside the markers: quoted text, such as a report of sub-agents, must stay quoted.
    return shorten(text, most, context.estimator.text, _cut)


def _cut(text: str, most: int) -> str:
    return truncate_result(text, max(most, MIN_REQUEST_CHARS))
