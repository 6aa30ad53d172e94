"""Detect tool calls that repeat without end, from the transcript of the current turn.

Nothing is counted in memory, so a worker that takes over the turn comes to the same verdict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.tools import LoopDetectionSettings
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
)
from openclaw_workers.tools.aliases import canonical

_POLLS = frozenset({"process", "command_status", "shell_status", "session_status", "subagents", "sessions_list"})
"""Tools that check for news: repeating them is normal, but not without end."""


class Action(StrEnum):
    OK = "ok"
    WARN = "warn"  # run the call, and add `text` to its result by `with_warning`
    BLOCK = "block"  # do not run it; `text` is its error


@dataclass(frozen=True, slots=True)
class Verdict:
    action: Action = Action.OK
    text: str = ""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A finished call, as hashes of what was called and of its result."""

    call: str
    outcome: str
    was_blocked: bool = False


OK = Verdict()


def past_calls(entries: Sequence[TranscriptEntry], run_id: str, most: int) -> list[PastCall]:
    """The latest finished calls of a run, oldest first."""
    calls: dict[str, str] = {}
    found: list[PastCall] = []
    for entry in entries:
        if getattr(entry, "run_id", None) != run_id:
            continue
        if isinstance(entry, AssistantEntry):
            calls.update((call.id, signature(call)) for call in entry.tool_calls)
        elif isinstance(entry, ToolResultEntry) and entry.tool_call_id in calls:
            text = entry.text
            was_blocked = entry.is_error and text.startswith(texts.LOOP_BLOCKED)
            # The path of a file that a tool returned names its content.
            files = "".join(f"{file.path}\n" for file in entry.files)
            # Without our own warning: it counts the repeats, so that equal results would differ by it.
            outcome = f"{entry.is_error}:{files}{text.rpartition(texts.LOOP_WARNING)[0] or text}"
            found.append(PastCall(calls.pop(entry.tool_call_id), _hash(outcome), was_blocked))
    return found[-most:]


def judge(past: Sequence[PastCall], call: ToolCallBlock, settings: LoopDetectionSettings) -> Verdict:
    """Whether a call may run, given the finished calls before it."""
    if not settings.enabled:
        return OK
    past = past[-settings.history_size :]
    this, name = signature(call), canonical(call.name)
    streak = _streak(past, this)
    if streak >= settings.global_circuit_breaker_threshold:
        return _block(texts.LOOP_SAME_RESULT.format(name=name, count=streak))
    if name in _POLLS:
        why = texts.LOOP_POLLING.format(name=name, count=streak)
        stop = streak >= settings.critical_threshold
        return _block(why + texts.LOOP_POLLING_STOP) if stop else _warn(streak, settings, why)
    # Two calls in turn are blocked only if their results stay the same: results that change are progress.
    turns, is_stuck = _ping_pong(past, this)
    if turns >= settings.warning_threshold:
        why = texts.LOOP_PING_PONG.format(count=turns)
        stop = is_stuck and turns >= settings.critical_threshold
        return _block(why + texts.LOOP_PING_PONG_STOP) if stop else _warn(turns, settings, why)
    repeats = sum(each.call == this for each in past)
    return _warn(repeats, settings, texts.LOOP_SAME_INPUT.format(name=name, count=repeats))


def with_warning(result: str, verdict: Verdict) -> str:
    """Add the warning to the result; `past_calls` ignores it."""
    return result + texts.LOOP_WARNING + verdict.text if verdict.action is Action.WARN else result


def signature(call: ToolCallBlock) -> str:
    # Models do not always write the same arguments in the same order.
    arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)
    return _hash(f"{canonical(call.name)}:{arguments}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _streak(past: Sequence[PastCall], this: str) -> int:
    """How many of the latest calls were this one with the same outcome. A blocked call does not end the streak."""
    count, outcome = 0, ""
    for each in reversed(past):
        if each.call != this or (not each.was_blocked and outcome and each.outcome != outcome):
            break
        outcome = outcome if each.was_blocked else each.outcome
        count += 1
    return count


def _ping_pong(past: Sequence[PastCall], this: str) -> tuple[int, bool]:
    """How many of the latest calls alternate between this one and another, and whether their results stay the same."""
    if not past or past[-1].call == this:
        return 0, False
    pair = (past[-1].call, this)
    count, outcomes = 0, (set[str](), set[str]())
    for each in reversed(past):
        if each.call != pair[count % 2]:
            break
        if not each.was_blocked:
            outcomes[count % 2].add(each.outcome)
        count += 1
    return (count, all(len(side) <= 1 for side in outcomes)) if count > 1 else (0, False)


def _block(why: str) -> Verdict:
    return Verdict(Action.BLOCK, texts.LOOP_BLOCKED + texts.LOOP_BLOCKED_ADVICE.format(why=why))


def _warn(count: int, settings: LoopDetectionSettings, why: str) -> Verdict:
    """Warn at each multiple of the threshold, not at every repeat."""
    if count < settings.warning_threshold or count % settings.warning_threshold:
        return OK
    return Verdict(Action.WARN, texts.LOOP_WARNING_ADVICE.format(why=why))
