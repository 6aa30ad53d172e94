"""The agent loop: ask the model, run the tools it calls, until it answers. It writes only through its Journal.

The loop can be entered at any point of a turn: it looks at the transcript, finishes the calls that are still open and
goes on. That is all there is to resuming after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog

from openclaw_workers.agent.history import fit, open_calls, repair, result_for
from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import FailureReason, LeaseLost, ProviderError, ToolError, TurnEnded
from openclaw_workers.models.text import encodable, encodable_json
from openclaw_workers.models.tools import ToolSpec
from openclaw_workers.models.transcript import (
    AssistantBlock,
    AssistantEntry,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    Usage,
    UserEntry,
)
from openclaw_workers.providers.base import Answer, ModelRequest, Provider, TextDelta, UsageSoFar
from openclaw_workers.tools.base import Effect, Tool, ToolContext
from openclaw_workers.tools.registry import canonical

log = structlog.get_logger(__name__)

RETRIED = frozenset({FailureReason.CUT, FailureReason.TIMEOUT, FailureReason.RATE_LIMIT})
RETRIES = 2
BRIEF_CHARS = 80
WINDOW_SHARE = 0.8
"""Of the model's window; the rest is for the system prompt, the tools and the answer."""

INTERRUPTED = (
    "[interrupted] The worker running this call died before its result was recorded. It may or may not have taken "
    "effect, and it was not run again. Check the state of things before you repeat it."
)


class Journal(Protocol):
    """Where a turn is written down as it happens."""

    def record(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        usage: Usage | None = None,
    ) -> list[UserEntry]:
        """Append entries; returns messages that were steered in.

        Raises:
            TurnEnded: the turn must stop here. The entries are recorded all the same.
            LeaseLost: another worker owns the session; nothing was recorded.
        """

    def text(self, delta: str) -> None:
        """Show a piece of the answer as it streams."""

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        """Show viewers an event that is not part of the transcript."""

    def allow(self, seconds: float) -> None:
        """Say how long the step that begins now may take."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything one turn needs to know."""

    agent_id: str
    session_key: str
    run_id: str
    provider: Provider
    model: str
    system: str
    thinking: str
    tools: Mapping[str, Tool[Any]]
    specs: Sequence[ToolSpec]
    workspace: Path
    started_call: str
    max_model_calls: int
    tool_timeout_seconds: float
    context_tokens: int | None = None


class AgentLoop:
    def __init__(self, setup: Setup, history: Sequence[TranscriptEntry], journal: Journal, cancel: Cancel) -> None:
        self._setup = setup
        self._journal = journal
        self._cancel = cancel
        window = setup.provider.context_window(setup.model)
        self._budget = int(min(window, setup.context_tokens or window) * WINDOW_SHARE)
        self.history = repair(history, keep_open_tail=True)
        self.partial = ""
        """What the model had said when a call was cut short."""
        self.unrecorded = Usage()
        """Tokens of calls that brought no answer; they were spent all the same."""

    def run(self) -> AssistantEntry:
        """Carry the turn to its final answer, which the caller commits.

        Raises:
            TurnEnded, LeaseLost, ProviderError: the turn cannot go on here.
        """
        self._finish_calls(resuming=True)
        for _ in range(self._setup.max_model_calls):
            answer = self._ask()
            if not answer.tool_calls:
                return answer
            self._record(answer, starting=answer.tool_calls[0].id)
            self._finish_calls()
        raise ProviderError(
            f"the turn was ended after {self._setup.max_model_calls} model calls without an answer",
            reason=FailureReason.UNKNOWN,
            hint="raise engine.maxSteps if the work really needs more",
        )

    def _record(self, entry: AssistantEntry | ToolResultEntry, *, starting: str = "", may_steer: bool = False) -> None:
        spent, self.unrecorded = self.unrecorded, Usage()
        if isinstance(entry, AssistantEntry):
            spent = spent.plus(entry.usage)
        self.history.append(entry)
        self.partial = ""
        self.history += self._journal.record([entry], starting=starting, may_steer=may_steer, usage=spent)

    def _ask(self) -> AssistantEntry:
        failed = 0
        while True:
            try:
                return self._call_model(failed)
            except ProviderError as error:
                if error.reason not in RETRIED or failed >= RETRIES:
                    raise
                failed += 1
                self.partial = ""
                log.warning("model.retried", reason=error.reason, attempt=failed, error=error.message)
                self._journal.show("model.retried", {"reason": error.reason, "attempt": failed})
                self._cancel.wait(0.5 * failed)

    def _call_model(self, failed: int) -> AssistantEntry:
        setup = self._setup
        request = ModelRequest(
            model=setup.model,
            system=setup.system,
            messages=repair(fit(self.history, self._budget)),
            tools=list(setup.specs),
            thinking=setup.thinking,
            failed_calls=failed,
        )
        self._cancel.check()
        spent = Usage()
        try:
            for event in setup.provider.stream(request, self._cancel):
                match event:
                    case TextDelta(text):
                        self.partial += encodable(text)
                        self._journal.text(encodable(text))
                    case UsageSoFar(usage):
                        spent = usage
                    case Answer():
                        return self._entry(event)
        except BaseException:
            self.unrecorded = self.unrecorded.plus(spent)
            raise
        self.unrecorded = self.unrecorded.plus(spent)
        raise ProviderError("the model's answer was cut off", reason=FailureReason.CUT)

    def _entry(self, answer: Answer) -> AssistantEntry:
        return AssistantEntry(
            content=[_storable(block) for block in answer.content],
            timestamp=now_ms(),
            run_id=self._setup.run_id,
            api=self._setup.provider.api,
            provider=self._setup.provider.name,
            model=self._setup.model,
            usage=answer.usage,
            stop_reason=answer.stop_reason,
        )

    def _finish_calls(self, *, resuming: bool = False) -> None:
        calls = open_calls(self.history)
        if resuming and calls and calls[0].id != self._setup.started_call:
            # An owner that was leaving did not start it. Now it is started, and must not be again if we die too (I5).
            self._journal.record([], starting=calls[0].id)
        for index, call in enumerate(calls, start=1):
            result = self._recover(call) if resuming else self._execute(call)
            result.timestamp, result.run_id = now_ms(), self._setup.run_id
            following = calls[index].id if index < len(calls) else ""
            self._record(result, starting=following, may_steer=not following)

    def _recover(self, call: ToolCallBlock) -> ToolResultEntry:
        """Finish a call that an earlier owner left open, as its effect allows (I5)."""
        tool = self._tool(call)
        if tool is not None and tool.effect is Effect.ONCE and call.id == self._setup.started_call:
            log.warning("tool.interrupted", tool=call.name, call_id=call.id)
            return result_for(call, INTERRUPTED, is_error=True)
        return self._execute(call)

    def _execute(self, call: ToolCallBlock) -> ToolResultEntry:
        setup = self._setup
        self._cancel.check()
        self._journal.show("tool.started", {"call": call.id, "tool": call.name, "brief": _brief(call)})
        self._journal.allow(setup.tool_timeout_seconds)
        try:
            text, failed = self._run_tool(call), False
        except ToolError as error:
            text, failed = error.message, True
        except (TurnEnded, LeaseLost):
            raise
        except Exception as error:
            log.exception("tool.broken", tool=call.name, call_id=call.id)
            text, failed = f"{call.name} failed unexpectedly: {type(error).__name__}: {error}", True
        self._journal.show("tool.ended", {"call": call.id, "tool": call.name, "error": failed})
        return result_for(call, encodable(text), is_error=failed)

    def _run_tool(self, call: ToolCallBlock) -> str:
        setup = self._setup
        tool = self._tool(call)
        if tool is None:
            raise ToolError(f"there is no tool {call.name!r}; you have {', '.join(sorted(setup.tools)) or 'none'}")
        context = ToolContext(
            workspace=setup.workspace,
            call_id=call.id,
            agent_id=setup.agent_id,
            session_key=setup.session_key,
            cancel=self._cancel,
            timeout_seconds=setup.tool_timeout_seconds,
            progress=lambda line: self._journal.show("tool.output", {"call": call.id, "line": line}),
        )
        return tool.run(tool.parse(call.arguments), context)

    def _tool(self, call: ToolCallBlock) -> Tool[Any] | None:
        return self._setup.tools.get(canonical(call.name))


def _storable(block: AssistantBlock) -> AssistantBlock:
    match block:
        case TextBlock():
            return TextBlock(text=encodable(block.text))
        case ThinkingBlock():
            return ThinkingBlock(thinking=encodable(block.thinking), signature=block.signature)
        case ToolCallBlock():
            return ToolCallBlock(id=block.id, name=encodable(block.name), arguments=encodable_json(block.arguments))


def _brief(call: ToolCallBlock) -> str:
    """The call's first argument in one line, for people who watch."""
    first = next(iter(call.arguments.values()), "")
    return " ".join(str(first).split())[:BRIEF_CHARS]


def now_ms() -> int:
    return int(time.time() * 1000)
