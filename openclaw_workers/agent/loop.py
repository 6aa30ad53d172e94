"""The agent loop: call the model, run the tools it calls, repeat until it answers. It writes only through its Journal.

The loop can start at any point of a turn: it reads the transcript, finishes the open tool calls and continues. This is
how a turn resumes after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import structlog

from openclaw_workers.agent.context.compaction import NotCompacted
from openclaw_workers.agent.context.history import (
    estimate_tokens,
    fit,
    open_calls,
    repair,
    result_for,
    with_unique_call_ids,
)
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.context.side_calls import SideCalls
from openclaw_workers.agent.context.window_keeper import SmallerWindow, WindowKeeper
from openclaw_workers.agent.interrupted_calls import interrupted_result
from openclaw_workers.agent.loop_detection import Action, Verdict, judge, past_calls, with_warning
from openclaw_workers.agent.model.asker import Asker, RequestFor
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.prompt import texts
from openclaw_workers.agent.tool_runner import ToolOutcome, run_batch, run_call
from openclaw_workers.agent.turn_setup import Journal, TurnSetup
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.encoding import replace_surrogates, replace_surrogates_in_json
from openclaw_workers.domain.transcript import (
    AssistantBlock,
    AssistantEntry,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
)
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.errors import FailureReason, ProviderError, TurnYielded
from openclaw_workers.providers.base import Answer, ModelRequest
from openclaw_workers.redaction import mask_known, mask_known_in_json
from openclaw_workers.tools.aliases import arguments, canonical
from openclaw_workers.tools.base import Tool, ToolContext

log = structlog.get_logger(__name__)

NO_OUTPUT = "(no output)"
BRIEF_CHARS = 80
RESULT_CHARS = 2_000
WINDOW_SHARE = 0.8
"""The share of the model's window for messages; the rest is for the system prompt, the tools and the answer."""


class AgentLoop:
    def __init__(self, setup: TurnSetup, history: Sequence[TranscriptEntry], journal: Journal, asker: Asker) -> None:
        self._setup = setup
        self._journal = journal
        self._asker = replace(asker, on_chosen=self._check_window)
        self._cancel = asker.cancel
        self._budget = int(min(setup.window, setup.context_tokens or setup.window) * WINDOW_SHARE)
        self.history = list(history)
        """The newest entries of the session's log as stored, plus those that this turn adds."""
        self._keeper = self._make_keeper(setup.view) if setup.view else None
        self.worked = 0.0
        """Seconds spent in tools since the last record."""
        self.begun = {setup.started_call}
        """Ids of tool calls that this or an earlier owner started: they may have taken effect."""

    @property
    def partial(self) -> str:
        return self._asker.partial

    def run(self) -> AssistantEntry:
        """Run the turn to its final answer, which the caller commits.

        Raises:
            TurnYielded: the turn ends without an answer, because the model waits for sub-agents.
            TurnEnded, LeaseLost, ProviderError: the turn cannot continue here.
        """
        self._finish_calls(resuming=True)
        for _ in range(self._setup.max_model_calls):
            self._stop_if_yielded()
            answer = self._ask()
            if not answer.tool_calls:
                return answer
            self._record(answer, starting=self._groups(answer.tool_calls)[0][0].id)
            self._finish_calls()
        raise ProviderError(
            f"the turn was ended after {self._setup.max_model_calls} model calls without an answer",
            reason=FailureReason.UNKNOWN,
            hint="raise engine.maxSteps if the work really needs more",
        )

    def call_tool(self, call: ToolCallBlock) -> AssistantEntry:
        """Run one call that a person asked for, without the model; its result is the answer.

        Raises:
            TurnYielded, TurnEnded, LeaseLost: as for `run`.
        """
        self._finish_calls(resuming=True)
        if self._result_of(call) is None:
            asked = AssistantEntry(content=[call], timestamp=now_ms(), run_id=self._setup.run_id, stop_reason="toolUse")
            self._record(asked, starting=call.id)
            self._finish_calls()
        self._stop_if_yielded()
        result = self._result_of(call)
        text = unwrap(result.text) if result else ""
        return AssistantEntry(
            content=[TextBlock(text=text or NO_OUTPUT)], timestamp=now_ms(), run_id=self._setup.run_id
        )

    def _result_of(self, call: ToolCallBlock) -> ToolResultEntry | None:
        results = (entry for entry in reversed(self.history) if isinstance(entry, ToolResultEntry))
        return next((entry for entry in results if entry.tool_call_id == call.id), None)

    def _stop_if_yielded(self) -> None:
        """Decide by the transcript, so that the next owner after a crash also ends the turn."""
        for entry in reversed(self.history):
            if not isinstance(entry, ToolResultEntry):
                return
            tool = self._setup.tools.get(canonical(entry.tool_name))
            if tool is not None and tool.ends_turn and not entry.is_error:
                raise TurnYielded(entry.text)

    def _record(self, *entries: AssistantEntry | ToolResultEntry, starting: str = "", may_steer: bool = False) -> None:
        self.history += entries
        self._asker.forget_partial()
        worked, self.worked = self.worked, 0.0
        self.history += self._journal.record(list(entries), starting=starting, may_steer=may_steer, worked=worked)

    def _ask(self) -> AssistantEntry:
        candidate, answer = self._ask_within_window()
        return AssistantEntry(
            content=with_unique_call_ids([_storable(block) for block in answer.content], self.history),
            timestamp=now_ms(),
            run_id=self._setup.run_id,
            api=candidate.provider.api_of(candidate.model),
            provider=candidate.provider.name,
            model=candidate.model,
            usage=answer.usage,
            stop_reason=answer.stop_reason,
        )

    def _ask_within_window(self) -> tuple[Candidate, Answer]:
        keeper = self._keeper
        if keeper is None:
            return self._asker.ask(self._asking(repair(fit(self.history, self._budget))))
        while True:
            before = len(self.history)
            keeper.make_room(self.history)
            if len(self.history) > before:
                self._record(may_steer=True)  # a summary takes a while, so new messages may have arrived
            messages = keeper.messages(self.history)
            try:
                candidate, answer = self._asker.ask(self._asking(messages))
            except SmallerWindow as smaller:
                keeper.narrow(smaller.view)
            except ProviderError as error:
                if error.reason is not FailureReason.CONTEXT_OVERFLOW:
                    raise
                keeper.overflowed(self.history, error)
            else:
                if (view := self._setup.view_of(candidate)) and not answer.estimated:
                    view.context.estimator.learn(self._setup.whole_system, self._setup.specs, messages, answer.usage)
                return candidate, answer

    def _check_window(self, candidate: Candidate) -> None:
        """Called before each model call.

        Raises:
            SmallerWindow: the conversation was fitted to a larger window than this model has.
        """
        keeper, view = self._keeper, self._setup.view_of(candidate)
        if keeper and view and view.context.window < keeper.view.context.window:
            raise SmallerWindow(view)

    def _seen_by(self, candidate: Candidate, messages: list[TranscriptEntry]) -> list[TranscriptEntry]:
        """The messages for one model. If it cannot summarise, the oldest are left out; for others room was made."""
        if self._keeper and candidate.provider.can_summarise:
            return messages
        window = candidate.provider.context_window(candidate.model)
        budget = int(min(window, self._setup.context_tokens or window) * WINDOW_SHARE)
        return messages if self._keeper is None and budget >= self._budget else fit(messages, budget)

    def _asking(self, messages: list[TranscriptEntry]) -> RequestFor:
        setup = self._setup

        def request(candidate: Candidate, failed: int) -> ModelRequest:
            can_call_tools = candidate.provider.can_call_tools
            return ModelRequest(
                model=candidate.model,
                system=setup.system if can_call_tools else setup.system_of_programs,
                system_tail=setup.system_tail,
                worker_line=setup.worker_line,
                system_extra=setup.system_extra,
                messages=self._seen_by(candidate, messages),
                tools=list(setup.specs) if can_call_tools else [],
                thinking=setup.thinking,
                failed_calls=failed,
                endpoint=candidate.endpoint,
                workspace=setup.workspace,
            )

        return request

    def next_tokens(self) -> int:
        """Estimate the tokens of the next request."""
        if self._keeper is not None:
            return self._keeper.view.used(self._keeper.messages(self.history))
        return sum(map(estimate_tokens, fit(self.history, self._budget)))

    def compact(self, focus: str) -> str:
        """Compact now because a person asked for it; return the reply to them."""
        if self._keeper is None:
            return "This model cannot summarise; older messages simply go out of its sight."
        done = self._keeper.compact_now(self.history, focus)
        if isinstance(done, NotCompacted):
            return f"Nothing was compacted: {done.reason}."
        return f"Compacted: about {done.tokens_before:,} tokens became {done.tokens_after:,}."

    def _make_keeper(self, view: RequestView) -> WindowKeeper:
        side_calls = SideCalls(self._setup, self._asker, self._execute_unseen)
        return WindowKeeper(
            view=view,
            run_id=self._setup.run_id,
            tools=frozenset(self._setup.tools),
            zone=self._setup.zone,
            summarise=side_calls.summarise,
            flush=lambda messages: side_calls.flush(messages, view.compaction.memory_flush),
            record=self._record_own,
            hooks=self._setup.hooks,
            session_key=self._setup.session_key,
        )

    def _record_own(self, entry: CompactionEntry | NoticeEntry) -> None:
        self.history.append(entry)
        worked, self.worked = self.worked, 0.0
        self._journal.record([entry], worked=worked)

    def _finish_calls(self, *, resuming: bool = False) -> None:
        groups = self._groups(open_calls(self.history))
        if resuming and groups and groups[0][0].id != self._setup.started_call:
            # The previous owner shut down before it started this call. Record that it starts now, so that nobody
            # starts it again if this worker dies too (I5).
            self._journal.record([], starting=groups[0][0].id)
        if resuming and not groups and self._setup.steering_waits:
            # The previous owner was in a model call or shutting down. The next model call is ours, and steered
            # messages must come before it.
            self._record(may_steer=True)
        for index, group in enumerate(groups, start=1):
            if group[0].id in self.begun:  # an earlier owner started it, and with it the whole group
                self.begun.update(call.id for call in group)
            if len(group) > 1:
                results = self._execute_group(group)
            else:
                results = [self._recover(group[0]) if resuming else self._execute(group[0])]
            at = {"timestamp": now_ms(), "run_id": self._setup.run_id}
            results = [result.model_copy(update=at) for result in results]
            following = groups[index][0].id if index < len(groups) else ""
            self._record(*results, starting=following, may_steer=not following)

    def _groups(self, calls: Sequence[ToolCallBlock]) -> list[list[ToolCallBlock]]:
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

    def _execute_group(self, calls: Sequence[ToolCallBlock]) -> list[ToolResultEntry]:
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
            self._journal.show("tool.started", {"call": call.id, "tool": call.name, "brief": _brief(call)})
        self._cancel.check()
        self._journal.allow(self._setup.tool_timeout_seconds)
        self.begun.update(call.id for call in calls)
        with self._working():
            outcomes = run_batch(tool, [(call, self._context(call)) for call in calls])
        for call, each in zip(calls, outcomes, strict=True):
            self._journal.show("tool.ended", {"call": call.id, "tool": call.name, "error": each.failed})
            self._tell_hooks(call, each)
        return [_result(call, each, each.quoted) for call, each in zip(calls, outcomes, strict=True)]

    def _recover(self, call: ToolCallBlock) -> ToolResultEntry:
        """Finish a call that an earlier owner left open, as far as its effect allows."""
        return interrupted_result(call, self._tool(call), self._setup) or self._execute(call)

    def _execute(self, call: ToolCallBlock) -> ToolResultEntry:
        setup, verdict = self._setup, self._judge(call)
        if verdict.action is Action.BLOCK:
            return result_for(call, verdict.text, is_error=True)
        call, blocked = self._ask_hooks(call)
        if blocked:
            return result_for(call, blocked, is_error=True)
        self._cancel.check()
        self._journal.show("tool.started", {"call": call.id, "tool": call.name, "brief": _brief(call)})
        self._journal.allow(setup.tool_timeout_seconds)
        self.begun.add(call.id)
        with self._working():
            outcome = run_call(call, setup.tools, self._context(call))
        self._tell_hooks(call, outcome)
        shown = {"result": outcome.plain[:RESULT_CHARS]} if setup.shows_results else {}
        self._journal.show("tool.ended", {"call": call.id, "tool": call.name, "error": outcome.failed, **shown})
        return _result(call, outcome, with_warning(outcome.quoted, verdict))

    def _ask_hooks(self, call: ToolCallBlock) -> tuple[ToolCallBlock, str]:
        """The call as plugins want it, and why they do not let it run, if so. The transcript keeps the model's own."""
        hooks = self._setup.hooks
        if hooks is None or not hooks.is_used("before_tool_call"):
            return call, ""
        verdict = hooks.ask("before_tool_call", self._hook_event(call))
        if verdict.blocked:
            log.warning("tool.blocked_by_hook", tool=call.name, call_id=call.id)
            return call, texts.BLOCKED_BY_HOOK.format(why=verdict.blocked)
        changes = {"name": canonical(call.name), "arguments": verdict.event["arguments"]}
        return call.model_copy(update=changes), ""

    def _tell_hooks(self, call: ToolCallBlock, outcome: ToolOutcome) -> None:
        hooks = self._setup.hooks
        if hooks is not None and hooks.is_used("after_tool_call"):
            result = {"result": outcome.plain, "error": outcome.failed}
            hooks.fire("after_tool_call", {**self._hook_event(call), **result})

    def _hook_event(self, call: ToolCallBlock) -> dict[str, Any]:
        setup = self._setup
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
        detection = self._setup.loop_detection
        verdict = judge(past_calls(self.history, self._setup.run_id, detection.history_size), call, detection)
        if verdict.action is Action.BLOCK:
            log.warning("tool.blocked", tool=call.name, call_id=call.id)
        return verdict

    def _execute_unseen(self, call: ToolCallBlock) -> ToolResultEntry:
        """Run a tool call of a side conversation, without showing it. The time limit of the current step applies."""
        self._cancel.check()
        with self._working():
            outcome = run_call(call, self._setup.tools, self._context(call))
        return _result(call, outcome, outcome.quoted)

    def _context(self, call: ToolCallBlock) -> ToolContext:
        setup, tool = self._setup, self._tool(call)
        return ToolContext(
            workspace=setup.workspace,
            call_id=call.id,
            agent_id=setup.agent_id,
            session_key=setup.session_key,
            cancel=self._cancel,
            timeout_seconds=setup.tool_timeout_seconds,
            progress=lambda line: self._journal.show("tool.output", {"call": call.id, "line": mask_known(line)}),
            exec_seconds=setup.exec_seconds,
            yield_seconds=setup.yield_seconds,
            commands=setup.commands,
            sandbox=setup.sandbox,
            shown_workspace=setup.shown_workspace,
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
        return self._setup.tools.get(canonical(call.name))


def _storable(block: AssistantBlock) -> AssistantBlock:
    match block:
        case TextBlock():
            return TextBlock(text=mask_known(replace_surrogates(block.text)))
        case ThinkingBlock():
            signature = block.signature and replace_surrogates(block.signature)
            return ThinkingBlock(thinking=mask_known(replace_surrogates(block.thinking)), signature=signature)
        case ToolCallBlock():
            return ToolCallBlock(
                id=replace_surrogates(block.id),
                name=replace_surrogates(block.name),
                arguments=mask_known_in_json(replace_surrogates_in_json(block.arguments)),
            )


def _result(call: ToolCallBlock, outcome: ToolOutcome, text: str) -> ToolResultEntry:
    return result_for(call, text, is_error=outcome.failed, files=outcome.files)


def _brief(call: ToolCallBlock) -> str:
    """The call's first argument in one line, for viewers."""
    first = next(iter(call.arguments.values()), "")
    return " ".join(str(first).split())[:BRIEF_CHARS]
