"""Asking a model: one call after the other until one answers, each noted for the ledger."""

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
from openclaw_workers.domain.encoding import encodable
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.ledger import call_id
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import Answer, ModelRequest, TextDelta, ThinkingDelta, UsageSoFar


@dataclass(frozen=True, slots=True)
class CallNote:
    """How one call went, for the ledger."""

    id: str
    candidate: Candidate
    usage: Usage
    seconds: float
    outcome: str
    recorded: bool = True
    """Its answer goes into the transcript, and the call is booked with it."""
    error: ProviderError | None = None
    estimated: bool = False
    """Its usage is our guess: the provider's own count is not known."""


class Viewers(Protocol):
    """Who is shown what happens while it happens, and who keeps the books."""

    def text(self, delta: str) -> None:
        """Show a piece of the answer as it streams."""

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        """Show viewers an event that is not part of the transcript."""

    def note(self, call: CallNote) -> None:
        """Keep a call for the ledger; it is booked at once, or with the record that holds its answer."""


RequestFor = Callable[[Candidate, int], ModelRequest]
"""The request for one candidate, told how many calls have failed since the last answer."""


@dataclass
class Asker:
    run_id: RunId
    owner: int
    """Which owner of the run this is: its calls are numbered."""
    chain: Chain
    viewers: Viewers
    cancel: Cancel
    reasoning: str = "off"
    """Whether viewers see what the model thinks: off, on or stream."""
    calibration: Calibration = field(default_factory=Calibration)
    on_chosen: Check = lambda candidate: None
    """Called before a model is asked, or waited for; what it raises ends the asking, and is not the model's failure."""
    partial: str = ""
    """What the model had said, and people had seen of it, when a call was cut short."""
    _calls: int = 0

    def forget_partial(self) -> None:
        """What it says is in the transcript now."""
        self.partial = ""

    def ask(self, request_for: RequestFor, *, aside: bool = False) -> tuple[Candidate, Answer]:
        """Ask until some model answers. What is asked aside, such as a summary, is shown to nobody.

        Raises:
            ProviderError: none did, or another would not do better.
            TurnEnded: the turn ended meanwhile, or nothing more may be spent.
        """
        try:
            return self._until_answered(request_for, aside)
        except ProviderError:
            if aside:
                self.chain.begin_anew()
            raise

    def _until_answered(self, request_for: RequestFor, aside: bool) -> tuple[Candidate, Answer]:
        failed = 0
        while True:
            # What is chosen and not called leaves no gap: the number of a lost call is told by the one before it.
            this = call_id(self.run_id, self.owner, self._calls + 1)
            candidate = self.chain.choose(
                this, lambda each: self._estimator(each).most(request_for(each, 0)), self.on_chosen, aside=aside
            )
            self._calls += 1
            began = time.monotonic()
            try:
                answer = self._stream(candidate, this, request_for(candidate, failed), aside)
            except ProviderError as error:
                failed += 1
                self.partial = ""
                self.chain.failed(candidate, error, time.monotonic() - began)
                self.viewers.show("model.retried", {"reason": error.reason, "attempt": failed, "model": candidate.name})
            except BaseException:
                self.chain.left(candidate)
                raise
            else:
                self.chain.succeeded(candidate, time.monotonic() - began)
                return candidate, answer

    def _estimator(self, candidate: Candidate) -> Estimator:
        return estimator_for(candidate, self.calibration)

    def _stream(self, candidate: Candidate, this: str, request: ModelRequest, aside: bool) -> Answer:
        self.cancel.check()
        began, spent, outcome, speech = time.monotonic(), Usage(), "aborted", ReplyStream()
        failure: ProviderError | None = None
        heard, estimated = 0, False
        thoughts = ReasoningStream("off" if aside else self.reasoning, self.viewers.show)
        try:
            for event in candidate.provider.stream(request, self.cancel):
                match event:
                    case ThinkingDelta(text):
                        heard += len(text)
                        thoughts.add(text)
                    case TextDelta(text):
                        heard += len(text)
                        if not aside:
                            thoughts.end()
                            self._say(speech.add(encodable(text)))
                    case UsageSoFar():
                        spent, estimated = event.usage, event.estimated
                    case Answer():
                        spent, estimated, outcome = event.usage, event.estimated, "ok"
                        thoughts.end()
                        self._say(speech.end())
                        return event
            raise ProviderError("the model's answer was cut off", reason=FailureReason.CUT)
        except ProviderError as error:
            outcome, failure = error.reason, error
            raise
        finally:
            recorded = outcome == "ok" and not aside
            if outcome == "aborted" and candidate.endpoint and not spent.total:
                # It was given up before the first word, but what was sent is being read, and billed.
                spent, estimated = Usage(input=self._estimator(candidate).request(request)), True
            if estimated and outcome != "ok":
                spent = spent.plus(Usage(output=heard // 4))
            seconds = time.monotonic() - began
            self.viewers.note(CallNote(this, candidate, spent, seconds, outcome, recorded, failure, estimated))

    def _say(self, text: str) -> None:
        if text:
            self.partial += text
            self.viewers.text(text)
