"""The tool calls of one turn: loop detection, hooks, what viewers see, and then the tool."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from openclaw_workers.agent.context.history import result_for
from openclaw_workers.agent.interrupted_calls import interrupted_result
from openclaw_workers.agent.loop_detection import Action, Verdict, judge, past_calls, with_warning
from openclaw_workers.agent.prompt import texts
from openclaw_workers.agent.tool_runner import ToolOutcome, run_batch, run_call
from openclaw_workers.agent.turn_setup import Journal, TurnSetup
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import AssistantEntry, ToolCallBlock, ToolResultEntry, TranscriptEntry
from openclaw_workers.redaction import mask_known
from openclaw_workers.tools.aliases import arguments, canonical
from openclaw_workers.tools.base import Tool, ToolContext

log = structlog.get_logger(__name__)

BRIEF_CHARS = 80
RESULT_CHARS = 2_000


@dataclass
class ToolCalls:
    setup: TurnSetup
    journal: Journal
    cancel: Cancel
    history: Sequence[TranscriptEntry]
    """The entries of the session's log. It grows while the turn runs."""
    worked: float = 0.0
    """Seconds spent in tools since somebody took note of them."""
    begun: set[str] = field(init=False)
    """Ids of calls that this or an earlier owner started: they may have taken effect."""

    def __post_init__(self) -> None:
        self.begun = {self.setup.started_call}

    def take_worked(self) -> float:
        """The seconds spent in tools since the last time."""
        worked, self.worked = self.worked, 0.0
        return worked

    def groups(self, calls: Sequence[ToolCallBlock]) -> list[list[ToolCallBlock]]:
        """Group the calls of batched tools and put these groups first; every other call is a group of its own."""
        together: dict[str, list[ToolCallBlock]] = {}
        alone = []
        for call in calls:
            tool = self._tool(call)
            if tool is not None and tool.batched:
                together.setdefault(tool.name, []).append(call)
            else:
                alone.append([call])
        return [*together.values(), *alone]

    def execute_group(self, calls: Sequence[ToolCallBlock]) -> list[ToolResultEntry]:
        """Run the calls of a group together, except those that loop detection blocks."""
        verdicts = {call.id: self._judge(call) for call in calls}
        asked = [self._ask_hooks(call) for call in calls if verdicts[call.id].action is not Action.BLOCK]
        allowed = [call for call, blocked in asked if not blocked]
        done = {each.tool_call_id: each for each in self._execute_together(allowed)} if allowed else {}
        done |= {call.id: result_for(call, blocked, is_error=True) for call, blocked in asked if blocked}
        results = []
        for call in calls:
            verdict, result = verdicts[call.id], done.get(call.id)
            text = with_warning(result.text, verdict) if result else verdict.text
            failed, files = (result.is_error, result.files) if result else (True, ())
            results.append(result_for(call, text, is_error=failed, files=files))
        return results

    def _execute_together(self, calls: Sequence[ToolCallBlock]) -> list[ToolResultEntry]:
        tool = self._tool(calls[0])
        assert tool is not None
        for call in calls:
            self.journal.show("tool.started", {"call": call.id, "tool": call.name, "brief": _brief(call)})
        self.cancel.check()
        self.journal.allow(self.setup.tool_timeout_seconds)
        self.begun.update(call.id for call in calls)
        with self._working():
            outcomes = run_batch(tool, [(call, self._context(call)) for call in calls])
        for call, each in zip(calls, outcomes, strict=True):
            self.journal.show("tool.ended", {"call": call.id, "tool": call.name, "error": each.failed})
            self._tell_hooks(call, each)
        return [_result(call, each, each.quoted) for call, each in zip(calls, outcomes, strict=True)]

    def recover(self, call: ToolCallBlock) -> ToolResultEntry:
        """Finish a call that an earlier owner left open, as far as its effect allows."""
        return interrupted_result(call, self._tool(call), self.setup) or self.execute(call)

    def execute(self, call: ToolCallBlock) -> ToolResultEntry:
        setup, verdict = self.setup, self._judge(call)
        if verdict.action is Action.BLOCK:
            return result_for(call, verdict.text, is_error=True)
        call, blocked = self._ask_hooks(call)
        if blocked:
            return result_for(call, blocked, is_error=True)
        self.cancel.check()
        self.journal.show("tool.started", {"call": call.id, "tool": call.name, "brief": _brief(call)})
        self.journal.allow(setup.tool_timeout_seconds)
        self.begun.add(call.id)
        with self._working():
            outcome = run_call(call, self._tools_of(call), self._context(call))
        self._tell_hooks(call, outcome)
        # Redis keeps up to 2,000 events of a session, so each must be small.
        shown = {"result": outcome.plain[:RESULT_CHARS]} if setup.shows_results else {}
        self.journal.show("tool.ended", {"call": call.id, "tool": call.name, "error": outcome.failed, **shown})
        return _result(call, outcome, with_warning(outcome.quoted, verdict))

    def _ask_hooks(self, call: ToolCallBlock) -> tuple[ToolCallBlock, str]:
        """The call as plugins want it, and why they do not let it run, if so. The transcript keeps the model's own."""
        hooks = self.setup.hooks
        if hooks is None or not hooks.is_used("before_tool_call"):
            return call, ""
        verdict = hooks.ask("before_tool_call", self._hook_event(call))
        if verdict.blocked:
            log.warning("tool.blocked_by_hook", tool=call.name, call_id=call.id)
            return call, texts.BLOCKED_BY_HOOK.format(why=verdict.blocked)
        # Hooks saw the arguments under the tool's own names, so the alias must not be applied to them again.
        changes = {"name": canonical(call.name), "arguments": verdict.event["arguments"]}
        return call.model_copy(update=changes), ""

    def _tell_hooks(self, call: ToolCallBlock, outcome: ToolOutcome) -> None:
        hooks = self.setup.hooks
        if hooks is not None and hooks.is_used("after_tool_call"):
            result = {"result": outcome.plain, "error": outcome.failed}
            hooks.fire("after_tool_call", {**self._hook_event(call), **result})

    def _hook_event(self, call: ToolCallBlock) -> dict[str, Any]:
        setup = self.setup
        who = {"sessionKey": setup.session_key, "agentId": setup.agent_id, "runId": setup.run_id, "callId": call.id}
        return {**who, "tool": canonical(call.name), "arguments": dict(arguments(call.name, call.arguments))}

    @contextmanager
    def _working(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.worked += time.monotonic() - began

    def _judge(self, call: ToolCallBlock) -> Verdict:
        detection = self.setup.loop_detection
        verdict = judge(past_calls(self.history, self.setup.run_id, detection.history_size), call, detection)
        if verdict.action is Action.BLOCK:
            log.warning("tool.blocked", tool=call.name, call_id=call.id)
        return verdict

    def execute_unseen(self, call: ToolCallBlock) -> ToolResultEntry:
        """Run a tool call of a side conversation, without showing it. The time limit of the current step applies."""
        self.cancel.check()
        with self._working():
            outcome = run_call(call, self.setup.tools, self._context(call))
        return _result(call, outcome, outcome.quoted)

    def _context(self, call: ToolCallBlock) -> ToolContext:
        setup, tool = self.setup, self._tool(call)
        return ToolContext(
            workspace=setup.workspace,
            call_id=call.id,
            agent_id=setup.agent_id,
            session_key=setup.session_key,
            cancel=self.cancel,
            timeout_seconds=setup.tool_timeout_seconds,
            progress=lambda line: self.journal.show("tool.output", {"call": call.id, "line": mask_known(line)}),
            exec_seconds=setup.exec_seconds,
            yield_seconds=setup.yield_seconds,
            commands=setup.commands,
            sandbox=setup.sandbox,
            shown_workspace=setup.shown_workspace,
            # Without this tool the model could neither read nor stop a command that goes on in the background.
            may_background="process" in setup.tools,
            sessions=setup.sessions,
            memory=setup.memory,
            web=setup.web,
            schedules=setup.schedules,
            messages=setup.messages,
            questions=setup.questions,
            approvals=setup.approvals.for_call(call.id) if setup.approvals else None,
            environment={**setup.environment, **(setup.secrets(tool) if tool is not None else {})},
            skill_paths=setup.skill_paths,
            skill_files=setup.skill_files,
        )

    def _tool(self, call: ToolCallBlock) -> Tool[Any] | None:
        return self._tools_of(call).get(canonical(call.name))

    def _tools_of(self, call: ToolCallBlock) -> Mapping[str, Tool[Any]]:
        """The tools of the model that made the call: a fallback may have fewer."""
        tools, denied = self.setup.tools, self.setup.denied_to(_model_of(call, self.history))
        return {name: tool for name, tool in tools.items() if name not in denied} if denied else tools


def _model_of(call: ToolCallBlock, history: Sequence[TranscriptEntry]) -> str:
    """As provider/model; empty if a person made the call."""
    for entry in reversed(history):
        if isinstance(entry, AssistantEntry) and any(each.id == call.id for each in entry.tool_calls):
            return f"{entry.provider}/{entry.model}" if entry.provider else ""
    return ""


def _result(call: ToolCallBlock, outcome: ToolOutcome, text: str) -> ToolResultEntry:
    return result_for(call, text, is_error=outcome.failed, files=outcome.files)


def _brief(call: ToolCallBlock) -> str:
    """The call's first argument in one line, for viewers."""
    first = next(iter(call.arguments.values()), "")
    return " ".join(str(first).split())[:BRIEF_CHARS]
