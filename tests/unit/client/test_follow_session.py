"""What a session that is followed without end reports, without any I/O."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.client.follow_session import SessionFeed
from openclaw_workers.client.protocol import (
    Ended,
    Gap,
    Note,
    Quiet,
    ReadEvents,
    ReadLastEventId,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Request,
    Sleep,
    Stepper,
    TurnStarted,
    Update,
)
from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import NotFound, StoreUnavailable

SESSION, MESSAGE = SessionKey("agent:main:main"), MessageId("msg-1")
RUN, NEXT = RunId("run-1"), RunId("run-2")
IDLE = SessionState("idle", "", 0, "", 1, 0)


def event(seq: int, kind: str, **data: Any) -> Event:
    return Event(f"{seq}-0", kind, seq, 1, data)


def record(run: RunId, state: str, **fields: Any) -> Run:
    return Run.model_validate({"id": run, "session_key": SESSION, "state": state, **fields})


class Feed:
    """A feed whose requests are answered from what the test has put here."""

    def __init__(self) -> None:
        self.now = 100.0
        self.state = IDLE
        self.last = "5-0"
        self.runs: dict[str, Run] = {}
        self.receipt: Receipt | None = None
        self.asked: list[Request[Any]] = []
        self.feed = SessionFeed(SESSION, clock=lambda: self.now)
        self._stepper = Stepper(self.feed.steps())
        self._step = self._stepper.advance()

    def until_read(self) -> list[Update]:
        """The updates up to the next time that it reads events."""
        seen: list[Update] = []
        while not isinstance(self._step, ReadEvents):
            assert self._step is not None
            if isinstance(self._step, Request):
                self._step = self._answer(self._step)
            else:
                seen += [] if isinstance(self._step, Quiet) else [self._step]
                self._step = self._stepper.advance()
        return seen

    @property
    def after(self) -> str:
        assert isinstance(self._step, ReadEvents)
        return self._step.after

    def read(self, *events: Event, later: float = 0) -> list[Update]:
        """The updates after these events came."""
        self.until_read()
        self.now += later
        self._step = self._stepper.advance(list(events))
        return self.until_read()

    def fail(self) -> list[Update]:
        self._step = self._stepper.fail(StoreUnavailable("no answer"))
        return self.until_read()

    def _answer(self, request: Request[Any]) -> Any:  # noqa: PLR0911  # one return for each request
        self.asked.append(request)
        match request:
            case ReadLastEventId():
                if not self.last:
                    return self._stepper.fail(NotFound("no session"))
                return self._stepper.advance(self.last)
            case ReadState():
                return self._stepper.advance(self.state)
            case ReadRun(run):
                return self._stepper.advance(self.runs.get(run))
            case ReadReceipt():
                return self._stepper.advance(self.receipt)
            case ReadWorkers():
                return self._stepper.advance([])
            case Sleep():
                return self._stepper.advance()
        raise AssertionError(request)


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_an_idle_session_is_read_from_now_on(feed: Feed) -> None:
    assert feed.until_read() == []
    assert feed.after == "5-0"
    assert not feed.feed.is_awaited


def test_a_session_that_does_not_exist_yet_is_read_from_its_beginning(feed: Feed) -> None:
    feed.last = ""
    assert feed.until_read() == []
    assert feed.after == "0"


def test_a_turn_from_elsewhere_is_reported_from_start_to_end(feed: Feed) -> None:
    feed.runs[RUN] = record(RUN, "running", title="from Telegram")
    assert feed.read(event(6, "message.accepted", id="msg-9")) == []
    assert feed.read(event(7, "run.started", run=RUN, covers=["msg-9"])) == [
        TurnStarted(RUN, feed.runs[RUN], is_own=False, is_attached=False),
        event(7, "run.started", run=RUN, covers=["msg-9"]),
    ]
    assert feed.feed.is_awaited
    assert feed.read(event(8, "text.delta", run=RUN, text="hi")) == [event(8, "text.delta", run=RUN, text="hi")]
    feed.runs[RUN] = record(RUN, "ok", covers=["msg-9"])
    assert feed.read(event(9, "run.ended", run=RUN)) == [Ended(feed.runs[RUN], None)]
    assert not feed.feed.is_awaited


def test_turns_that_come_in_one_read_are_all_reported(feed: Feed) -> None:
    feed.runs = {RUN: record(RUN, "ok"), NEXT: record(NEXT, "ok")}
    seen = feed.read(
        event(6, "run.started", run=RUN),
        event(7, "run.ended", run=RUN),
        event(8, "run.started", run=NEXT),
        event(9, "text.delta", run=NEXT, text="b"),
        event(10, "run.ended", run=NEXT),
    )
    names = [each.type if isinstance(each, Event) else type(each).__name__ for each in seen]
    assert names == ["TurnStarted", "run.started", "Ended", "TurnStarted", "run.started", "text.delta", "Ended"]


def test_a_turn_that_runs_is_shown_from_its_start_and_older_ones_are_not(feed: Feed) -> None:
    feed.state = SessionState("running", NEXT, 0, "host/1/a", 1, 0)
    feed.runs[NEXT] = record(NEXT, "running")
    (started,) = feed.until_read()
    assert started == TurnStarted(NEXT, feed.runs[NEXT], is_own=False, is_attached=True)
    assert feed.after == "0"
    shown = feed.read(
        event(1, "text.delta", run=RUN, text="old"),
        event(2, "run.ended", run=RUN),
        event(3, "run.started", run=NEXT),
        event(4, "text.delta", run=NEXT, text="new"),
        event(5, "subagent.spawned", run="run-3", parentRun=NEXT),
    )
    assert [each.type for each in shown if isinstance(each, Event)] == ["run.started", "text.delta"]
    assert len(feed.read(event(6, "subagent.started", run="run-3"))) == 1


def test_a_turn_whose_beginning_is_gone_is_shown_with_a_gap(feed: Feed) -> None:
    feed.state = SessionState("running", RUN, 0, "host/1/a", 1, 0)
    feed.runs[RUN] = record(RUN, "running")
    feed.until_read()
    text = event(4, "text.delta", run=RUN, text="the middle")
    assert feed.read(text) == [Gap(), text]


def test_own_messages_are_distinguished_from_others_and_their_end_is_reported(feed: Feed) -> None:
    feed.until_read()
    feed.feed.sending(MESSAGE)
    assert feed.feed.is_awaited
    feed.runs[RUN] = record(RUN, "running")
    started, _ = feed.read(event(6, "run.started", run=RUN, covers=[MESSAGE]))
    assert isinstance(started, TurnStarted)
    assert started.is_own
    feed.runs[RUN] = record(RUN, "ok", covers=[MESSAGE])
    feed.receipt = Receipt(state=MessageState.ANSWERED, run=RUN)
    assert feed.read(event(7, "run.ended", run=RUN)) == [Ended(feed.runs[RUN], None)]
    assert not feed.feed.is_awaited


def test_a_cancelled_message_is_reported_after_some_silence(feed: Feed) -> None:
    feed.until_read()
    feed.feed.sending(MESSAGE)
    feed.receipt = Receipt(state=MessageState.CANCELLED)
    assert feed.read() == []
    assert feed.read(later=2) == [Ended(None, feed.receipt)]
    assert not feed.feed.is_awaited


def test_the_end_of_a_turn_is_found_without_its_event(feed: Feed) -> None:
    feed.runs[RUN] = record(RUN, "running")
    feed.read(event(6, "run.started", run=RUN))
    assert feed.read(later=2) == []
    feed.runs[RUN] = record(RUN, "ok")
    assert feed.read(later=2) == [Ended(feed.runs[RUN], None)]


def test_it_says_once_why_a_message_waits(feed: Feed) -> None:
    feed.until_read()
    feed.feed.sending(MESSAGE)
    feed.receipt = Receipt(state=MessageState.ACCEPTED)
    assert feed.read(later=3) == [Note("no worker is running for lane main; start one with `ocw up`")]
    assert feed.read(later=3) == []


def test_while_redis_is_away_it_sleeps_and_reports_that_once(feed: Feed) -> None:
    feed.until_read()
    assert feed.fail() == [Note("no answer; still trying, nothing is lost")]
    assert feed.fail() == []
    assert feed.read() == [Note("Redis is back")]
