"""A lane whose cap is switched off and on again: no place in line outlives its run, and no slot waits for nobody."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.turn_records import NotTaken, Taken
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import StoreHarness, session_named


def leave_place(store: StoreHarness, ticket: int, run: str, session: SessionKey) -> None:
    """A place in line that nobody removed, as older versions left them."""
    store.redis.zadd(store.keys.line(Lane.MAIN), {f"{run} {session}": ticket})


def granted_by(answer: Taken | NotTaken) -> list[str]:
    assert isinstance(answer, NotTaken), answer
    return [session for _, session in answer.granted]


def test_a_worker_without_a_cap_removes_the_place_of_what_it_takes(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second = session_named("a", "b")
    for session in (first, second):
        store.say("hi", session=session)
    store.take(session=first)
    assert store.refused(session=second) == "lane"

    store.cap = 0
    store.commit(store.take(session=second))

    assert store.line() == []


def test_when_the_cap_is_off_those_in_line_are_woken_by_whoever_ends_a_turn(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    taken = store.take(session=first)
    for session in (second, third):
        assert store.refused(session=session) == "lane"

    store.cap = 0
    committed = store.commit(taken)

    assert [session for _, session in committed.granted] == [second, third]
    assert (store.line(), store.slots()) == ([], set())
    due = store.due_at(f"turn|{third}")
    assert due is not None
    assert due - store.now() <= 4_000, "a wake-up that is lost is repeated soon"


def test_a_place_that_nobody_removed_costs_those_behind_it_no_waiting(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    idle, gone, waiting = session_named("idle", "gone", "waiting")
    store.say("hi", session=idle)
    store.commit(store.take(session=idle))
    leave_place(store, -2, "run-old", idle)
    leave_place(store, -1, "run-gone", gone)
    store.say("hi", session=waiting)

    asked = store.try_take(session=waiting)
    assert granted_by(asked) == [idle], "a free slot is granted by whoever gets into the line"
    assert granted_by(store.try_take(session=idle, run="run-old")) == [gone]
    assert granted_by(store.try_take(session=gone, run="run-gone")) == [waiting]
    store.take(session=waiting)

    assert (store.line(), store.slots()) == ([], {waiting})


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_slot_granted_to_an_old_run_goes_to_the_next_in_line_unless_the_session_uses_it(
    make_store: MakeStore, state: str
) -> None:
    store = make_store(cap=1)
    busy, other = session_named("busy", "other")
    store.say("hi", session=busy)
    leave_place(store, -1, "run-old", busy)
    store.say("hi", session=other)
    assert granted_by(store.try_take(session=other)) == [busy]
    if state == "running":
        store.take(session=busy)
        assert granted_by(store.try_take(session=busy, run="run-old")) == []
        assert store.slots() == {busy}
        return
    leave_place(store, 99, store.ctl("run", busy), busy)

    assert granted_by(store.try_take(session=busy, run="run-old")) == [other]
    assert (store.line(), store.slots()) == ([busy], {other})


def test_a_late_wake_up_of_an_old_run_takes_no_slot_from_the_run_it_was_granted_to(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    taken = store.take(session=first)
    for session in (second, third):
        assert store.refused(session=session) == "lane"
    store.commit(taken)
    assert store.slots() == {second}

    assert granted_by(store.try_take(session=second, run="run-old")) == []

    store.take(session=second)
