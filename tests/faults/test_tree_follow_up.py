"""A parent asks a settled child again and waits for the answer: it gets the answer once, whichever worker dies (I4)."""

from __future__ import annotations

import signal

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.store.inter_session import InterSession
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place, start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate
from tests.support.programs import Step, as_text, call, program, say, spawn
from tests.support.tree import announces, check_tree, children_of
from tests.support.tree_follow_ups import is_follow_up, readings
from tests.support.waiting import eventually

ROOT = session_key("main")
WAIT = place(InterSession.wait)
BEFORE, AFTER = f"{WAIT}:2", f"{WAIT}:2:after"
"""The parent wakes up and reads the answer: killed before it reads, or after, but before the result is recorded."""


def ask_again(*steps: Step) -> Step:
    wanted = {"label": "kid", "message": as_text(program(*steps)), "timeoutSeconds": 3_600}
    return call({"tool": "sessions_send", "input": wanted})


def with_settled_child(fleet: Fleet) -> None:
    fleet.outcome(fleet.send(program(spawn(program(say("first")), label="kid"), say("spawned"), say("heard"))))
    eventually(lambda: announces(fleet.transcript()), within=20)
    check_tree(fleet.stores, ROOT)


def killed_while_reading_the_answer(fleet: Fleet, moment: str, *, last: str) -> Queued:
    """A root asks its child again and parks. The child answers, and the root's worker dies while it reads."""
    start_workers(fleet, "subagent", "service")
    victim = fleet.worker(concurrency=1, **faulty(die=moment))
    with_settled_child(fleet)
    gate = Gate(fleet, "answer")
    asking = fleet.send(program(ask_again(gate.step, say("second")), say(last)))
    eventually(lambda: fleet.stores.reader.control(ROOT).state == "parked", within=20)
    gate.open()
    assert victim.wait() == -signal.SIGKILL
    assert follow_up(fleet).text == "second", "the worker died before the answer"
    return asking


def follow_up(fleet: Fleet) -> Run:
    (run,) = [run for run in children_of(fleet.stores, ROOT) if is_follow_up(run)]
    return run


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
def test_the_next_owner_reads_the_answer_if_the_first_died_while_reading(make_fleet: MakeFleet, moment: str) -> None:
    fleet = make_fleet()
    asking = killed_while_reading_the_answer(fleet, moment, last="got it")

    start_workers(fleet, "main")

    assert fleet.outcome(asking).text == "got it"
    assert_read(fleet)


def assert_read(fleet: Fleet) -> None:
    """The wait got the answer; the only announce is that of the child's first result."""
    check_tree(fleet.stores, ROOT)
    again = follow_up(fleet)
    assert [each.text for each in readings(fleet.stores, [ROOT])[again.id]] == ["second"]
    assert [again.id in text for text in announces(fleet.transcript())] == [False]


def test_an_answer_that_arrives_before_its_parent_waits_is_read_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    start_workers(fleet, "subagent", "service")
    fleet.worker(concurrency=1, **faulty(slow=f"{WAIT}:1.0"))
    with_settled_child(fleet)

    asking = fleet.send(program(ask_again(say("second")), say("got it")))

    assert fleet.outcome(asking).text == "got it"
    assert_read(fleet)


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
def test_an_answer_its_parent_did_not_read_is_announced(make_fleet: MakeFleet, moment: str) -> None:
    """Its worker dies while it reads the answer, and a person stops the turn before another worker takes it."""
    fleet = make_fleet()
    asking = killed_while_reading_the_answer(fleet, moment, last="never")
    fleet.control.stop_session(ROOT)

    start_workers(fleet, "main")

    assert fleet.outcome(asking).receipt.state is MessageState.CANCELLED
    eventually(lambda: len(announces(fleet.transcript())) == 2, within=20)
    check_tree(fleet.stores, ROOT)
    again = follow_up(fleet)
    assert (again.state, again.text) == (RunState.OK, "second")
    assert readings(fleet.stores, [ROOT])[again.id] == []
    assert [again.id in text for text in announces(fleet.transcript())] == [False, True]
