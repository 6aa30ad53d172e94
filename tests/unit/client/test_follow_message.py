"""What a conversation asks for next, without any I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation, has_worker
from openclaw_workers.client.protocol import (
    Note,
    Quiet,
    ReadEvents,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Sleep,
    Stepper,
)
from openclaw_workers.domain.events import Event, SessionState
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey, WorkerId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Lane, Run
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.errors import StoreUnavailable

SESSION, MESSAGE, RUN = SessionKey("agent:main:main"), MessageId("msg-1"), RunId("run-1")
ALIVE = WorkerInfo(WorkerId("host/1/a"), True, 1, {"lane": "main"})
BUSY = SessionState("running", "run-0", 0, "", 1, 1)
DONE = Run.model_validate({"id": RUN, "session_key": SESSION, "state": "ok"})


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def conversation(clock: Clock, **given: Any) -> Stepper[Any]:
    return Stepper(Conversation(SESSION, message=MESSAGE, after="5-0", clock=clock, **given).steps())


def event(seq: int, kind: str, **data: Any) -> Event:
    return Event(f"{seq}-0", kind, seq, 1, data)


def test_the_end_is_read_from_receipt_and_run_when_an_event_announces_it(clock: Clock) -> None:
    steps = conversation(clock)
    assert steps.advance() == ReadEvents(SESSION, "5-0", 2000)
    ended = event(6, "run.ended", run=RUN, covers=[MESSAGE])
    assert steps.advance([ended]) == ended
    assert steps.advance() == ReadReceipt(SESSION, MESSAGE)
    assert steps.advance(Receipt(state=MessageState.ANSWERED, run=RUN)) == ReadRun(RUN)
    assert steps.advance(DONE) is not None
    assert steps.advance() is None
    assert steps.result is not None
    assert steps.result.run is DONE


def test_while_events_arrive_no_record_is_read(clock: Clock) -> None:
    steps = conversation(clock)
    steps.advance()
    assert steps.advance([event(6, "text.delta", run="run-0")]) == Quiet()
    assert steps.advance() == ReadEvents(SESSION, "6-0", 2000)


def test_after_patience_it_asks_why_nothing_happens_and_says_so_once(clock: Clock) -> None:
    steps = conversation(clock)
    steps.advance()
    clock.now += 3
    assert steps.advance([]) == ReadReceipt(SESSION, MESSAGE)
    assert steps.advance(Receipt(state=MessageState.ACCEPTED)) == ReadWorkers()
    assert steps.advance([ALIVE]) == ReadState(SESSION)
    assert steps.advance(BUSY) == Note("the session is busy with run-0; the message waits")
    assert steps.advance() == Quiet()
    clock.now += 1
    steps.advance()
    assert steps.advance([]) == Quiet()


def test_while_redis_is_away_it_sleeps_and_reports_that_once(clock: Clock) -> None:
    steps = conversation(clock)
    steps.advance()
    assert steps.fail(StoreUnavailable("no answer")) == Note("no answer; still trying, nothing is lost")
    assert steps.advance() == Sleep(0.5)
    assert steps.advance() == ReadEvents(SESSION, "5-0", 2000)
    assert steps.fail(StoreUnavailable("no answer")) == Sleep(0.5)
    steps.advance()
    assert steps.advance([]) == Note("Redis is back")


def test_no_read_lasts_past_the_deadline(clock: Clock) -> None:
    steps = conversation(clock, deadline=Deadline(1.5, clock=clock))
    assert steps.advance() == ReadEvents(SESSION, "5-0", 1500)
    clock.now += 1
    assert steps.advance([]) == Quiet()
    assert steps.advance() == ReadEvents(SESSION, "5-0", 500)
    clock.now += 0.5
    steps.advance([])
    with pytest.raises(WaitOver, match="no answer within the given time; the message continues"):
        steps.advance()


def test_a_worker_counts_for_its_lanes_while_it_is_alive() -> None:
    silent = WorkerInfo(WorkerId("host/2/b"), False, 1, {"lane": "subagent"})
    assert has_worker([ALIVE, silent], Lane.MAIN)
    assert not has_worker([ALIVE, silent], Lane.SUBAGENT)


def test_a_session_whose_run_waits_for_a_worker_is_not_called_busy(clock: Clock) -> None:
    steps = conversation(clock)
    steps.advance()
    clock.now += 3
    steps.advance([])
    steps.advance(Receipt(state=MessageState.ACCEPTED))
    assert steps.advance([ALIVE]) == ReadState(SESSION)
    queued = SessionState("queued", "run-0", 0, "", 1, 1)
    assert steps.advance(queued) == Note("waiting for a free worker on lane main")


def test_a_run_that_waits_for_drained_workers_says_so(clock: Clock) -> None:
    steps = conversation(clock)
    steps.advance()
    clock.now += 3
    steps.advance([])
    steps.advance(Receipt(state=MessageState.ACCEPTED))
    steps.advance([replace(ALIVE, facts={**ALIVE.facts, "drain": "1"})])
    said = steps.advance(SessionState("queued", "run-0", 0, "", 1, 1))
    assert said == Note("all workers of lane main are drained; `ocw undrain HOST` lets them take turns again")
