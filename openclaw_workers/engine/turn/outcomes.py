"""The outcomes that a turn can be committed with."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from openclaw_workers.agent.context.history import open_calls, result_for
from openclaw_workers.agent.loop import AgentLoop
from openclaw_workers.agent.model.asker import Asker
from openclaw_workers.agent.output.heartbeat_reply import PROVENANCE as HEARTBEAT
from openclaw_workers.agent.output.silent_replies import is_silent, text_to_send
from openclaw_workers.agent.prompt import texts
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.job import PROVENANCE as CRON
from openclaw_workers.domain.messages import InboxEntry, MessageState
from openclaw_workers.domain.outgoing import OutgoingKind
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.session_key import is_subagent
from openclaw_workers.domain.system_event import PROVENANCE as SYSTEM_EVENT
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    TranscriptEntry,
)
from openclaw_workers.engine.delivery.chats import fallback_notice
from openclaw_workers.engine.intake.commands.command import Ordered
from openclaw_workers.engine.intake.commands.parse import parse_command
from openclaw_workers.engine.llm.failover import ModelChain
from openclaw_workers.engine.sessions.texts_between_sessions import PROVENANCE, says_nothing
from openclaw_workers.engine.tree.report import frozen, partial_result
from openclaw_workers.engine.turn.prepare import Prepared
from openclaw_workers.errors import (
    BudgetExhausted,
    OpenClawError,
    ProviderError,
    TurnEnded,
    TurnTimedOut,
    TurnYielded,
)
from openclaw_workers.store.turn_records import Outcome, Taken

PARTIAL_CHARS = 100_000
UNSTORABLE = "the turn ended in a way that could not be stored; the worker's log tells more"


ANNOUNCED_MODEL = "fallbackNotice"
"""Row field: the fallback model that was announced in the session's chat; empty if the model asked for answers."""
FROM_WITHIN = frozenset({"subagent", PROVENANCE, SYSTEM_EVENT, CRON, HEARTBEAT})
"""Provenances of messages that nobody in the chat wrote."""


def complete(
    outcome: Outcome, bound: Sequence[InboxEntry], row: dict[str, str], asker: Asker, *, announced_model: str
) -> Outcome:
    """An outcome with what goes with it, whatever it is: fields of the session's row, and what failover leaves behind.

    That is the key to stay with, and a word to people if another model answered. A word that ends an exchange between
    sessions is for the runtime, and nothing to show to people. `announced_model`: the fallback that the chat knows of.
    """
    row, entries, chain = {**outcome.row, **row}, outcome.entries, asker.chain
    notices = outcome.notices
    if isinstance(chain, ModelChain):
        if chain.served_by:
            # After a compaction no cache is left to stay for.
            row["authProfileOverride"] = "" if "compactionCount" in row else chain.served_by
        if chain.fallback:
            entries = [notice(chain.fallback, "warning", RunId(asker.run_id)), *entries]
        if chain.answered is not None:
            answered, wanted = chain.answered.name, chain.wanted
            changed = fallback_notice(wanted, answered, chain.failure, announced_model)
            notices = (*notices, changed) if changed else notices
            row |= {ANNOUNCED_MODEL: "" if answered == wanted else answered} if changed else {}
    provenance = bound[0].metadata.get("provenance") if bound else None
    text = "" if provenance == PROVENANCE and says_nothing(outcome.text) else outcome.text
    kind = OutgoingKind.ANNOUNCE if provenance in FROM_WITHIN else outcome.kind
    return replace(outcome, row=row, entries=entries, text=text, kind=kind, notices=notices)


def compactions(taken: Taken, loop: AgentLoop) -> dict[str, str]:
    """How often this session has been compacted, where this turn has changed that."""
    # Entries of this run are at the end. Earlier owners of the turn may have written some of them.
    ours = takewhile(lambda entry: entry.run_id in (taken.lease.run, None), reversed(loop.history))
    done = sum(isinstance(entry, CompactionEntry) and entry.run_id is not None for entry in ours)
    return {"compactionCount": str(int(taken.row.get("compactionCount") or 0) + done)} if done else {}


def command(entry: InboxEntry) -> Outcome | Ordered:
    """How a command ends its turn; or, if it needs a model, what is asked of it."""
    parsed = parse_command(entry.text)
    if parsed is None or parsed.command.in_order is None:
        error = f"{entry.text.split()[0]} is not a command this version knows"
        return Outcome(RunState.ERROR, "error", MessageState.FAILED, error=error, is_command=True)
    done = parsed.command.in_order(parsed.argument)
    if done.compact is not None:
        return done
    return Outcome(
        RunState.OK,
        "complete",
        MessageState.ANSWERED,
        text=done.text,
        reset=done.reset,
        row=done.row,
        is_command=True,
    )


def ended(error: TurnEnded, loop: AgentLoop, run: RunId) -> Outcome:
    """A turn that was stopped or timed out: what the model had said so far is kept, open calls are closed."""
    timed_out = isinstance(error, TurnTimedOut)
    closing = close(loop.history, run, loop.begun)
    # People have seen this text, so the next turn must know of it.
    if loop.partial:
        said = [TextBlock(text=loop.partial[:PARTIAL_CHARS])]
        closing.append(AssistantEntry(content=[*said], timestamp=now_ms(), run_id=run, stop_reason="aborted"))
    message = error.message if timed_out else f"the turn was stopped ({error.message})"
    closing.append(notice(message, "warning", run))
    return Outcome(
        RunState.TIMEOUT if timed_out else RunState.KILLED,
        "timeout" if timed_out else error.message,
        MessageState.FAILED if timed_out else MessageState.CANCELLED,
        text=loop.partial[:PARTIAL_CHARS],
        error=message,
        partial=partial_result(loop.history, loop.partial, run=run),
        entries=closing,
    )


def answered(answer: AssistantEntry, session: SessionKey) -> Outcome:
    text = text_to_send(answer.text)
    return Outcome(
        RunState.OK,
        "silent" if is_silent(answer.text) else "length" if answer.stop_reason == "length" else "complete",
        MessageState.ANSWERED,
        # A parent reads a child's result whole, so it is cut where it is stored.
        text=frozen(text) if is_subagent(session) else text,
        model=f"{answer.provider}/{answer.model}" if answer.provider else "",  # a skill's command calls none
        context_tokens=answer.usage.total,
        entries=[answer],
    )


def yielded(error: TurnYielded, loop: AgentLoop) -> Outcome:
    """A turn that ended to wait: its last entry is the result of the call that said so."""
    last = next(entry for entry in reversed(loop.history) if isinstance(entry, AssistantEntry))
    return Outcome(
        RunState.OK,
        "yielded",
        MessageState.ANSWERED,
        text=json.loads(error.message)["message"],
        model=f"{last.provider}/{last.model}",
        context_tokens=last.usage.total,
    )


def done(text: str, loop: AgentLoop) -> Outcome:
    """A command that needed a model and left nothing to say to it."""
    return Outcome(RunState.OK, "complete", MessageState.ANSWERED, text=text, is_command=True)


def over_budget(error: BudgetExhausted, loop: AgentLoop, run: RunId) -> Outcome:
    """A clear final answer instead of a failure: whoever asked, a person or a parent, reads why it ends here."""
    said = f"{loop.partial[:PARTIAL_CHARS]}\n\n" if loop.partial else ""  # the time was over in the middle of it
    text = (said + texts.OVER_BUDGET.format(why=error.message, hint=error.hint or "")).strip()
    answer = AssistantEntry(content=[TextBlock(text=text)], timestamp=now_ms(), run_id=run)
    closing = [*close(loop.history, run, loop.begun), answer]
    return Outcome(RunState.OK, "budget", MessageState.ANSWERED, text=text, entries=closing)


def prompt_fields(taken: Taken, prepared: Prepared) -> dict[str, str]:
    """What `/context` tells of the prompt and its skills, written when it has changed."""
    fields = {"systemPromptReport": prepared.report, "skillsSnapshot": prepared.skills.snapshot}
    return {name: value for name, value in fields.items() if value and taken.row.get(name) != value}


def failed(error: Exception, history: list[TranscriptEntry], run: RunId) -> Outcome:
    if isinstance(error, ProviderError):
        message, reason = f"the model call failed ({error.description}): {error.message}", str(error.reason)
    elif isinstance(error, OpenClawError):
        message, reason = error.message, "error"
    else:
        message, reason = replace_surrogates(f"the turn failed unexpectedly: {type(error).__name__}: {error}"), "error"
    hint = f" ({error.hint})" if isinstance(error, OpenClawError) and error.hint else ""
    closing = [*close(history, run), notice(message, "error", run)]
    partial = partial_result(history, run=run)
    return Outcome(RunState.ERROR, reason, MessageState.FAILED, error=message + hint, entries=closing, partial=partial)


def lost(history: list[TranscriptEntry], run: RunId, *, losses: int, attempts: int, stood_still: bool) -> Outcome:
    """Its workers died: `losses` in all. `stood_still`: the last `attempts` of them without any progress."""
    times = "once" if attempts == 1 else f"{attempts} times"
    why = f"its worker died {times} without getting any further"
    error = f"the turn was given up: {why if stood_still else f'{losses} workers died while they carried it'}"
    closing = [*close(history, run), notice(error, "error", run)]
    partial = partial_result(history, run=run)
    return Outcome(RunState.ERROR, "lost", MessageState.FAILED, error=error, entries=closing, partial=partial)


def unstorable(history: list[TranscriptEntry], run: RunId) -> Outcome:
    """The last resort. It says nothing about the cause, because that is what could not be stored."""
    closing = [*close(history, run), notice(UNSTORABLE, "error", run)]
    return Outcome(RunState.ERROR, "error", MessageState.FAILED, error=UNSTORABLE, entries=closing)


def close(history: list[TranscriptEntry], run: RunId, begun: Collection[str] | None = None) -> list[TranscriptEntry]:
    """Results for calls that will never have any, so that the transcript stays a valid sequence (I2).

    A call that was started is reported as interrupted (I5); so is every call if it is not known which were started.
    """
    closing: list[TranscriptEntry] = []
    for call in open_calls(history):
        may_have_run = begun is None or call.id in begun
        text = texts.TURN_ENDED_DURING_CALL if may_have_run else texts.TURN_ENDED_BEFORE_CALL
        result = result_for(call, text, is_error=True)
        closing.append(result.model_copy(update={"run_id": run, "timestamp": now_ms()}))
    return closing


def notice(text: str, level: Literal["warning", "error"], run: RunId) -> NoticeEntry:
    return NoticeEntry(text=text, level=level, timestamp=now_ms(), run_id=run)
