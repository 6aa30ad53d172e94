"""The agent loop: call the model, run the tools it calls, repeat until it answers. It writes only through its Journal.

The loop can start at any point of a turn: it reads the transcript, finishes the open tool calls and continues. This is
how a turn resumes after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from openclaw_workers.agent.context.compaction import NotCompacted
from openclaw_workers.agent.context.history import (
    estimate_tokens,
    fit,
    open_calls,
    repair,
    with_unique_call_ids,
)
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.context.side_calls import SideCalls
from openclaw_workers.agent.context.window_keeper import SmallerWindow, WindowKeeper
from openclaw_workers.agent.model.asker import Asker, RequestFor
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.tool_calls import ToolCalls
from openclaw_workers.agent.turn_setup import Journal, TurnSetup
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.encoding import replace_surrogates, replace_surrogates_in_json
from openclaw_workers.domain.tool_spec import ToolSpec
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
from openclaw_workers.redaction import mask_before_cut, mask_known, mask_known_in_json
from openclaw_workers.tools.aliases import canonical

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
        # Side calls use this copy too, so the check also keeps them from models with a smaller window.
        self._asker = replace(asker, on_chosen=self._check_window)
        self._budget = int(min(setup.window, setup.context_tokens or setup.window) * WINDOW_SHARE)
        self.history = list(history)
        """The newest entries of the session's log as stored, plus those that this turn adds."""
        self._calls = ToolCalls(setup, journal, asker.cancel, self.history)
        self._keeper = self._make_keeper(setup.view) if setup.view else None

    @property
    def partial(self) -> str:
        return mask_before_cut(self._asker.partial)

    @property
    def worked(self) -> float:
        """Seconds spent in tools since the last record."""
        return self._calls.worked

    @property
    def begun(self) -> set[str]:
        """Ids of tool calls that this or an earlier owner started: they may have taken effect."""
        return self._calls.begun

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
            # Written before the tool runs: whoever takes over must know that this call may have taken effect (I5).
            self._record(answer, starting=self._calls.groups(answer.tool_calls)[0][0].id)
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
        # A person reads this, and the markers around untrusted text are for models.
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
        # Before the write: if it raises TurnEnded, the entries are recorded all the same.
        self.history += entries
        self._asker.forget_partial()
        worked = self._calls.take_worked()
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
                # An estimated usage is our own guess, from which there is nothing to learn.
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
        # A fallback may have a smaller window than the model that the messages were fitted to.
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
                tools=_offered(setup, candidate.name) if can_call_tools else [],
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
        side_calls = SideCalls(self._setup, self._asker, self._calls.execute_unseen)
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
        self._journal.record([entry], worked=self._calls.take_worked())

    def _finish_calls(self, *, resuming: bool = False) -> None:
        groups = self._calls.groups(open_calls(self.history))
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
            # These are spawn calls. They may run again: the ids of children are derived from the calls (rule 3).
            if len(group) > 1:
                results = self._calls.execute_group(group)
            else:
                results = [(self._calls.recover if resuming else self._calls.execute)(group[0])]
            at = {"timestamp": now_ms(), "run_id": self._setup.run_id}
            results = [result.model_copy(update=at) for result in results]
            following = groups[index][0].id if index < len(groups) else ""
            # Steered messages wait for the last result: between a call and its result they would break I2.
            self._record(*results, starting=following, may_steer=not following)


def _offered(setup: TurnSetup, model: str) -> list[ToolSpec]:
    denied = setup.denied_to(model)
    return [spec for spec in setup.specs if spec.name not in denied]


def _storable(block: AssistantBlock) -> AssistantBlock:
    # Models emit lone surrogates, and repeat secrets that a tool has shown them. Neither must reach the transcript.
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
