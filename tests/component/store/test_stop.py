"""Stopping: names one run and messages up to one moment, and never hits what comes later."""

from __future__ import annotations

from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import RunState
from openclaw_workers.store.inbox import Stopped
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import SESSION, StoreHarness, session_named


def test_there_is_nothing_to_stop_in_an_idle_or_unknown_session(store: StoreHarness) -> None:
    assert store.stop() == Stopped(run=None)
    store.say("hi")
    store.commit(store.take())
    assert store.stop() == Stopped(run=None)


def test_a_running_turn_is_marked_and_what_waits_is_cancelled(store: StoreHarness) -> None:
    store.say("running", run="run-a")
    taken = store.take()
    store.say("waiting")
    store.say("/new", kind="command")

    assert store.stop() == Stopped(run=taken.lease.run, begun=True, cancelled=1)

    assert store.ctl("abort") == "run-a"
    assert store.waiting() == ["/new"]
    assert store.states("running", "waiting") == ["bound", "cancelled"]
    store.commit(taken, state=RunState.KILLED, reason="killed", messages=MessageState.CANCELLED)
    assert store.states("running", "/new") == ["cancelled", "accepted"]


def test_a_stop_of_one_run_leaves_what_waits(store: StoreHarness) -> None:
    store.say("running", run="run-a")
    store.take()
    store.say("waiting")

    assert store.stop(run="run-a", with_waiting=False).cancelled == 0
    assert store.waiting() == ["waiting"]


def test_a_run_that_has_not_begun_is_over_at_once(store: StoreHarness) -> None:
    store.say("hi", run="run-a")

    assert store.stop() == Stopped(run=store.run("run-a").id, cancelled=1)

    run = store.run("run-a")
    assert (run.state, run.reason, run.covers) == (RunState.KILLED, "killed", ["hi"])
    assert store.states("hi") == ["cancelled"]
    assert (store.ctl("state"), store.due_at()) == ("idle", None)
    assert store.events()[-1] == "run.ended"
    assert store.refused(run="run-a") == "idle"


def test_a_waiting_command_keeps_its_turn_under_a_run_of_its_own(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    store.say("/new", kind="command")

    stopped = store.stop()

    assert store.states("hi", "/new") == ["cancelled", "accepted"]
    assert store.run("run-a").state is RunState.KILLED
    assert stopped.wake is not None
    store.take(run=stopped.wake)
    assert store.bound() == ["/new"]


def test_stopping_one_queued_run_leaves_the_messages_of_later_ones(store: StoreHarness) -> None:
    for text in ("one", "two", "three"):
        store.say(text, run="run-a", mode=QueueMode.FOLLOWUP)

    stopped = store.stop(run="run-a", with_waiting=False)

    assert store.states("one", "two", "three") == ["cancelled", "accepted", "accepted"]
    assert (stopped.cancelled, store.run("run-a").state) == (1, RunState.KILLED)
    assert stopped.wake is not None
    store.take(run=stopped.wake)
    assert store.bound() == ["two"]


def test_a_stop_during_a_handover_reaches_the_next_owner(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take("w1")
    store.turns("w1").release(taken.lease)

    stopped = store.stop()

    assert (stopped.begun, stopped.wake) == (True, "run-a"), "nobody carries it, so somebody must be woken to end it"
    assert store.take("w2").abort == "killed"


def test_a_stop_just_after_a_commit_hits_nothing_of_the_next_run(store: StoreHarness) -> None:
    store.say("one", run="run-a")
    taken = store.take()
    store.say("two", mode=QueueMode.FOLLOWUP)
    store.commit(taken, next_run="run-b")

    assert store.stop(run="run-a", with_waiting=False) == Stopped(run=None)

    assert store.run("run-a").state == RunState.OK
    assert store.take(run="run-b").abort == ""
    assert store.states("two") == ["bound"]


def test_a_stopped_run_leaves_the_line_and_its_grant_to_the_next(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    first, second, third = session_named("a", "b", "c")
    for session in (first, second, third):
        store.say("hi", session=session)
    taken = store.take(session=first)
    for session in (second, third):
        assert store.refused(session=session) == "lane"
    store.commit(taken)
    assert store.slots() == {second}, "granted, not yet used"

    stopped = store.stop(session=second)

    assert [session for _, session in stopped.granted] == [third]
    assert store.slots() == {third}
    assert store.line() == []


def test_a_stop_of_one_run_is_for_what_that_run_has_spawned(store: StoreHarness) -> None:
    """Rule 12: it is marked before its children are read, and the order names it."""
    store.say("one", run="run-one")
    first = store.take()
    store.spawn(first, "a")
    store.commit(first)
    store.say("two", run="run-two")
    second = store.take()
    store.spawn(second, "b", batch="batch-2")

    stopped = store.stop(run="run-two", with_waiting=False)

    assert (stopped.begun, stopped.live) == (True, ("run-a", "run-b"))
    assert store.tree.stop_order(SESSION) is None
    order = store.tree.stop_order(SESSION, second.lease.run)
    assert order is not None
    assert [run.id for run in store.tree.live(SESSION, order.upto) if order.is_for(run)] == ["run-b"]
    assert store.spawn(second, "c", batch="batch-2")[0].verdict == "cancelled"
    assert store.due_at("stop_children|run-two " + SESSION) is not None


def test_a_stop_of_a_session_is_for_all_that_it_has_spawned(store: StoreHarness) -> None:
    store.say("one")
    first = store.take()
    store.spawn(first, "a")
    store.commit(first)
    store.say("two")
    store.spawn(store.take(), "b", batch="batch-2")

    store.stop()

    order = store.tree.stop_order(SESSION)
    assert order is not None
    assert [run.id for run in store.tree.live(SESSION, order.upto) if order.is_for(run)] == ["run-a", "run-b"]
