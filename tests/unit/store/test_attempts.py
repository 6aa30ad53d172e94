"""Models that did not answer: every script that books adds them to the run record, each once."""

from __future__ import annotations

from openclaw_workers.errors import FailureReason
from openclaw_workers.models.ids import RunId
from openclaw_workers.models.runs import Lane, ModelAttempt, RunState
from openclaw_workers.store.books import Books
from openclaw_workers.store.turns import Lease
from tests.unit.store.desk import SESSION, Desk, child_key


def vain(*calls: str) -> Books:
    told = 'it said "call-1" and\n[more]'
    return Books(
        attempts=[ModelAttempt(id=call, model="p/m", reason=FailureReason.TIMEOUT, error=told) for call in calls]
    )


def attempts(desk: Desk, run: RunId) -> list[str]:
    return [each.id for each in desk.run(run).model_attempts]


def test_attempts_are_appended_by_whatever_books_them(desk: Desk) -> None:
    desk.say("one")
    lease = desk.take().lease
    desk.turns().book(lease, vain("call-12"))
    desk.turns().step(lease, 1, [], books=vain("call-1", "call-2"))
    desk.turns().step(lease, 2, [], books=vain("call-2"))
    desk.turns().release(lease, books=vain("call-3"))
    desk.commit(desk.take(), books=vain("call-4"))
    assert attempts(desk, lease.run) == ["call-12", "call-1", "call-2", "call-3", "call-4"]


def test_a_child_keeps_those_of_its_earlier_rounds(desk: Desk) -> None:
    desk.say("one")
    parent = desk.take()
    desk.spawn(parent, "a")
    desk.commit(parent)
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch="batch-2")
    desk.commit(child, books=vain("call-1"))
    assert desk.run(RunId("run-a")).state is RunState.PARKED
    desk.commit(desk.take(session=child_key("b"), run="run-b"))
    desk.announce("batch-2")
    desk.commit(desk.take(session=child_key("a"), run="run-a"), books=vain("call-2"))
    assert attempts(desk, RunId("run-a")) == ["call-1", "call-2"]


def test_a_run_that_is_forgotten_does_not_come_back_by_it(desk: Desk) -> None:
    desk.turns().book(Lease(SESSION, RunId("run-gone"), Lane.MAIN, "1:n"), vain("call-1"))
    assert desk.redis.exists(desk.keys.run(RunId("run-gone"))) == 0
