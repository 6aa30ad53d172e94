"""A lane whose cap is switched off and on again: no place in line outlives its run, and no slot waits for nobody."""

from __future__ import annotations

import pytest

from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.runs import Lane
from openclaw_workers.store.turns import NotTaken, Taken
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import Desk, session_named


def leave_place(desk: Desk, ticket: int, run: str, session: SessionKey) -> None:
    """A place in line that nobody removed, as older versions left them."""
    desk.redis.zadd(desk.keys.line(Lane.MAIN), {f"{run} {session}": ticket})


def granted_by(answer: Taken | NotTaken) -> list[str]:
    assert isinstance(answer, NotTaken), answer
    return [session for _, session in answer.granted]


def test_a_worker_without_a_cap_removes_the_place_of_what_it_takes(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second = session_named("a", "b")
    for session in (first, second):
        desk.say("hi", session=session)
    desk.take(session=first)
    assert desk.refused(session=second) == "lane"

    desk.cap = 0
    desk.commit(desk.take(session=second))

    assert desk.line() == []


def test_when_the_cap_is_off_those_in_line_are_woken_by_whoever_ends_a_turn(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    taken = desk.take(session=first)
    for session in (second, third):
        assert desk.refused(session=session) == "lane"

    desk.cap = 0
    committed = desk.commit(taken)

    assert [session for _, session in committed.granted] == [second, third]
    assert (desk.line(), desk.slots()) == ([], set())
    due = desk.due(f"turn|{third}")
    assert due is not None
    assert due - desk.now() <= 4_000, "a wake-up that is lost is repeated soon"


def test_a_place_that_nobody_removed_costs_those_behind_it_no_waiting(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    idle, gone, waiting = session_named("idle", "gone", "waiting")
    desk.say("hi", session=idle)
    desk.commit(desk.take(session=idle))
    leave_place(desk, -2, "run-old", idle)
    leave_place(desk, -1, "run-gone", gone)
    desk.say("hi", session=waiting)

    asked = desk.try_take(session=waiting)
    assert granted_by(asked) == [idle], "a free slot is granted by whoever gets into the line"
    assert granted_by(desk.try_take(session=idle, run="run-old")) == [gone]
    assert granted_by(desk.try_take(session=gone, run="run-gone")) == [waiting]
    desk.take(session=waiting)

    assert (desk.line(), desk.slots()) == ([], {waiting})


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_slot_granted_to_an_old_run_goes_to_the_next_in_line_unless_the_session_uses_it(
    make_desk: MakeDesk, state: str
) -> None:
    desk = make_desk(cap=1)
    busy, other = session_named("busy", "other")
    desk.say("hi", session=busy)
    leave_place(desk, -1, "run-old", busy)
    desk.say("hi", session=other)
    assert granted_by(desk.try_take(session=other)) == [busy]
    if state == "running":
        desk.take(session=busy)
        assert granted_by(desk.try_take(session=busy, run="run-old")) == []
        assert desk.slots() == {busy}
        return
    leave_place(desk, 99, desk.ctl("run", busy), busy)

    assert granted_by(desk.try_take(session=busy, run="run-old")) == [other]
    assert (desk.line(), desk.slots()) == ([busy], {other})


def test_a_late_wake_up_of_an_old_run_takes_no_slot_from_the_run_it_was_granted_to(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    taken = desk.take(session=first)
    for session in (second, third):
        assert desk.refused(session=session) == "lane"
    desk.commit(taken)
    assert desk.slots() == {second}

    assert granted_by(desk.try_take(session=second, run="run-old")) == []

    desk.take(session=second)
