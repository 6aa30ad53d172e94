"""Stopping: names one run and messages up to one moment, and never hits what comes later."""

from __future__ import annotations

from openclaw_workers.models.messages import MessageState, QueueMode
from openclaw_workers.models.runs import RunState
from openclaw_workers.store.inbox import Stopped
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import SESSION, Desk, session_named


def test_there_is_nothing_to_stop_in_an_idle_or_unknown_session(desk: Desk) -> None:
    assert desk.stop() == Stopped(run=None)
    desk.say("hi")
    desk.commit(desk.take())
    assert desk.stop() == Stopped(run=None)


def test_a_running_turn_is_marked_and_what_waits_is_cancelled(desk: Desk) -> None:
    desk.say("running", run="run-a")
    taken = desk.take()
    desk.say("waiting")
    desk.say("/new", kind="command")

    assert desk.stop() == Stopped(run=taken.lease.run, begun=True, cancelled=1)

    assert desk.ctl("abort") == "run-a"
    assert desk.waiting() == ["/new"]
    assert desk.states("running", "waiting") == ["bound", "cancelled"]
    desk.commit(taken, state=RunState.KILLED, reason="killed", messages=MessageState.CANCELLED)
    assert desk.states("running", "/new") == ["cancelled", "accepted"]


def test_a_stop_of_one_run_leaves_what_waits(desk: Desk) -> None:
    desk.say("running", run="run-a")
    desk.take()
    desk.say("waiting")

    assert desk.stop(run="run-a", with_waiting=False).cancelled == 0
    assert desk.waiting() == ["waiting"]


def test_a_run_that_has_not_begun_is_over_at_once(desk: Desk) -> None:
    desk.say("hi", run="run-a")

    assert desk.stop() == Stopped(run=desk.run("run-a").id, cancelled=1)

    run = desk.run("run-a")
    assert (run.state, run.reason, run.covers) == (RunState.KILLED, "killed", ["hi"])
    assert desk.states("hi") == ["cancelled"]
    assert (desk.ctl("state"), desk.due()) == ("idle", None)
    assert desk.events()[-1] == "run.ended"
    assert desk.refused(run="run-a") == "idle"


def test_a_waiting_command_keeps_its_turn_under_a_run_of_its_own(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    desk.say("/new", kind="command")

    stopped = desk.stop()

    assert desk.states("hi", "/new") == ["cancelled", "accepted"]
    assert desk.run("run-a").state is RunState.KILLED
    assert stopped.wake is not None
    desk.take(run=stopped.wake)
    assert desk.bound() == ["/new"]


def test_stopping_one_queued_run_leaves_the_messages_of_later_ones(desk: Desk) -> None:
    for text in ("one", "two", "three"):
        desk.say(text, run="run-a", mode=QueueMode.FOLLOWUP)

    stopped = desk.stop(run="run-a", with_waiting=False)

    assert desk.states("one", "two", "three") == ["cancelled", "accepted", "accepted"]
    assert (stopped.cancelled, desk.run("run-a").state) == (1, RunState.KILLED)
    assert stopped.wake is not None
    desk.take(run=stopped.wake)
    assert desk.bound() == ["two"]


def test_a_stop_during_a_handover_reaches_the_next_owner(desk: Desk) -> None:
    desk.say("hi", run="run-a")
    taken = desk.take("w1")
    desk.turns("w1").release(taken.lease)

    stopped = desk.stop()

    assert (stopped.begun, stopped.wake) == (True, "run-a"), "nobody carries it, so somebody must be woken to end it"
    assert desk.take("w2").abort == "killed"


def test_a_stop_just_after_a_commit_hits_nothing_of_the_next_run(desk: Desk) -> None:
    desk.say("one", run="run-a")
    taken = desk.take()
    desk.say("two", mode=QueueMode.FOLLOWUP)
    desk.commit(taken, next_run="run-b")

    assert desk.stop(run="run-a", with_waiting=False) == Stopped(run=None)

    assert desk.run("run-a").state == RunState.OK
    assert desk.take(run="run-b").abort == ""
    assert desk.states("two") == ["bound"]


def test_a_stopped_run_leaves_the_line_and_its_grant_to_the_next(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        desk.say("hi", session=session)
    taken = desk.take(session=first)
    for session in (second, third):
        assert desk.refused(session=session) == "lane"
    desk.commit(taken)
    assert desk.slots() == {second}, "granted, not yet used"

    stopped = desk.stop(session=second)

    assert [session for _, session in stopped.granted] == [third]
    assert desk.slots() == {third}
    assert desk.line() == []


def test_a_stop_of_one_run_is_for_what_that_run_has_spawned(desk: Desk) -> None:
    """Rule 12: it is marked before its children are read, and the order names it."""
    desk.say("one", run="run-one")
    first = desk.take()
    desk.spawn(first, "a")
    desk.commit(first)
    desk.say("two", run="run-two")
    second = desk.take()
    desk.spawn(second, "b", batch="batch-2")

    stopped = desk.stop(run="run-two", with_waiting=False)

    assert (stopped.begun, stopped.live) == (True, ("run-a", "run-b"))
    assert desk.tree.reap(SESSION) is None
    order = desk.tree.reap(SESSION, second.lease.run)
    assert order is not None
    assert [run.id for run in desk.tree.live(SESSION, order.upto) if order.is_for(run)] == ["run-b"]
    assert desk.spawn(second, "c", batch="batch-2")[0].verdict == "cancelled"
    assert desk.due("reap|run-two " + SESSION) is not None


def test_a_stop_of_a_session_is_for_all_that_it_has_spawned(desk: Desk) -> None:
    desk.say("one")
    first = desk.take()
    desk.spawn(first, "a")
    desk.commit(first)
    desk.say("two")
    desk.spawn(desk.take(), "b", batch="batch-2")

    desk.stop()

    order = desk.tree.reap(SESSION)
    assert order is not None
    assert [run.id for run in desk.tree.live(SESSION, order.upto) if order.is_for(run)] == ["run-a", "run-b"]
