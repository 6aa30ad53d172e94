"""Call models until one answers, and report each call for the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.candidates import Candidate, Chain, Check
from openclaw_workers.agent.model.tokens import Estimator, estimator_for
from openclaw_workers.agent.output.reasoning_stream import ReasoningStream
from openclaw_workers.agent.output.silent_replies import ReplyStream
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.ledger import call_id
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import Answer, ModelRequest, TextDelta, ThinkingDelta, UsageSoFar


@dataclass(frozen=True, slots=True)
class CallNote:
    """The outcome of one call, for the ledger."""

    id: str
    candidate: Candidate
    usage: Usage
    seconds: float
    outcome: str
    recorded: bool = True
    """Its answer goes into the transcript, and the ledger entry is written with it."""
    error: ProviderError | None = None
    estimated: bool = False
    """The usage is our estimate, because the provider did not report its own count."""


class Viewers(Protocol):
    """Receives what happens during a turn: text and events for viewers, calls for the ledger."""

    def text(self, delta: str) -> None:
        """Show a piece of the answer as it streams."""

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        """Show viewers an event that is not part of the transcript."""

    def note(self, call: CallNote) -> None:
        """Take a call for the ledger; it is written at once, or with the record that holds its answer."""


RequestFor = Callable[[Candidate, int], ModelRequest]
"""Builds the request for a candidate; the number says how many calls have failed since the last answer."""


@dataclass
class Asker:
    run_id: RunId
    owner: int
    """The fence of this owner of the run; its calls are numbered."""
    chain: Chain
    viewers: Viewers
    cancel: Cancel
    reasoning: str = "off"
    """Whether viewers see what the model thinks: off, on or stream."""
    calibration: Calibration = field(default_factory=Calibration)
    on_chosen: Check = lambda candidate: None
    """Called before a model is called or waited for. An exception from it ends `ask`; it is not a model failure."""
    partial: str = ""
    """The part of an interrupted answer that people have already seen."""
    _calls: int = 0

    def forget_partial(self) -> None:
        """Called when the transcript holds the text."""
        self.partial = ""

    def ask(self, request_for: RequestFor, *, is_side_call: bool = False) -> tuple[Candidate, Answer]:
        """Call models until one answers. A side call, such as for a summary, is not shown to anyone.

        Raises:
            ProviderError: no model answered, or no other model could do better.
            TurnEnded: the turn ended in the meantime, or a budget is used up.
        """
        try:
            return self._until_answered(request_for, is_side_call)
        except ProviderError:
            if is_side_call:
                self.chain.start_over()
            raise

    def _until_answered(self, request_for: RequestFor, is_side_call: bool) -> tuple[Candidate, Answer]:
        failed = 0
        while True:
            # Choosing without calling must leave no gap in the numbers: the id of a lost call is derived from the last
            # known one.
            this = call_id(self.run_id, self.owner, self._calls + 1)
            candidate = self.chain.choose(
                this,
                lambda each: self._estimator(each).most(request_for(each, 0)),
                self.on_chosen,
                is_side_call=is_side_call,
            )
            # Counted before the call: if it fails, the next one must have another id in the ledger.
            self._calls += 1
            began = time.monotonic()
            try:
                answer = self._stream(candidate, this, request_for(candidate, failed), is_side_call)
            except ProviderError as error:
                failed += 1
                # Viewers discard this answer when they are shown the retry.
                self.partial = ""
                self.chain.failed(candidate, error, time.monotonic() - began)
                self.viewers.show("model.retried", _retried(candidate, error, failed))
            except BaseException:
                # Also if the turn is stopped: the call still holds a place in the rate limits.
                self.chain.left(candidate)
                raise
            else:
                self.chain.succeeded(candidate, time.monotonic() - began)
                return candidate, answer

    def _estimator(self, candidate: Candidate) -> Estimator:
        return estimator_for(candidate, self.calibration)

    def _stream(self, candidate: Candidate, this: str, request: ModelRequest, is_side_call: bool) -> Answer:
        self.cancel.check()
        began, spent, outcome, speech = time.monotonic(), Usage(), "aborted", ReplyStream()
        failure: ProviderError | None = None
        heard, estimated = 0, False
        thoughts = ReasoningStream("off" if is_side_call else self.reasoning, self.viewers.show)
        try:
            for event in candidate.provider.stream(request, self.cancel):
                match event:
                    case ThinkingDelta(text):
                        heard += len(text)
                        thoughts.add(text)
                    case TextDelta(text):
                        heard += len(text)
                        if not is_side_call:
                            thoughts.end()
                            self._say(speech.add(replace_surrogates(text)))
                    case UsageSoFar():
                        spent, estimated = event.usage, event.estimated
                    case Answer():
                        spent, estimated, outcome = event.usage, event.estimated, "ok"
                        thoughts.end()
                        self._say(speech.end())
                        return event
            # A stream ends with an Answer or an error; with neither, the connection was closed early.
            raise ProviderError("the model's answer was cut off", reason=FailureReason.CUT)
        except ProviderError as error:
            outcome, failure = error.reason, error
            raise
        finally:
            # However the call ended, its tokens may be billed, so the ledger gets it (I9).
            recorded = outcome == "ok" and not is_side_call
            if outcome == "aborted" and candidate.endpoint and not spent.total:
                # The call was abandoned before the first event, but the provider reads and bills what was sent.
                spent, estimated = Usage(input=self._estimator(candidate).request(request)), True
            if estimated and outcome != "ok":
                # The count of output tokens comes with the end, which this call never reached.
                spent = spent.plus(Usage(output=heard // 4))
            seconds = time.monotonic() - began
            self.viewers.note(CallNote(this, candidate, spent, seconds, outcome, recorded, failure, estimated))

    def _say(self, text: str) -> None:
        if text:
            self.partial += text
            self.viewers.text(text)


def _retried(candidate: Candidate, error: ProviderError, failed: int) -> dict[str, object]:
    """`reason` decides what is called next, `what` says what happened."""
    return {"reason": error.reason, "what": error.description, "attempt": failed, "model": candidate.name}
