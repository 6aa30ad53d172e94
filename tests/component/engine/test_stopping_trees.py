"""Stopping one run of a session in which others have spawned too: what it hits, what it spares, what is said of it."""

from __future__ import annotations

from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.tree import BatchState
from tests.component.engine.conftest import CLI, SESSION, EngineHarness
from tests.component.engine.tree_builder import CHILD, announces, children, first_turn, reread, settle
from tests.support.programs import program, say, spawn

MIDDLE = program(spawn(CHILD), say("waiting"), say("never"))


def two_turns(engine: EngineHarness) -> tuple[Run, Run]:
    """Two turns are over, and of each a child waits to be carried."""
    first_turn(engine, spawn(CHILD))
    first_turn(engine, spawn(CHILD))
    one, two = children(engine)
    assert one.parent_run_id != two.parent_run_id
    return one, two


def states(engine: EngineHarness) -> list[RunState]:
    return [run.state for run in children(engine)]


def reply_to(engine: EngineHarness, text: str) -> str:
    answered = engine.intake.accept(text, session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(answered, Answered)
    return answered.text


def test_stopping_a_run_that_is_over_stops_what_it_left_at_work_and_nothing_of_others(engine: EngineHarness) -> None:
    one, two = two_turns(engine)

    stopped = engine.control.stop_run(two.parent_run_id or RunId(""))

    assert (stopped.run, stopped.begun, stopped.children) == (two.parent_run_id, False, 1)
    assert states(engine) == [RunState.QUEUED, RunState.KILLED]
    assert settle(engine) == [BatchState.DELIVERED] * 2
    assert reread(engine, one).text == "child's word"
    assert engine.control.stop_run(two.parent_run_id or RunId("")).run is None, "by now there is nothing left to stop"


def test_stopping_a_run_that_has_not_begun_spares_what_turns_before_it_spawned(engine: EngineHarness) -> None:
    first_turn(engine, spawn(MIDDLE))
    engine.runner.run(*engine.waker.turns.pop(0))
    following = engine.say("next")

    stopped = engine.control.stop_run(following.run or RunId(""))

    assert (stopped.run, stopped.children, stopped.cancelled) == (following.run, 0, 1)
    assert states(engine) == [RunState.PARKED]
    settle(engine)
    assert "status: completed" in announces(engine)[0]


def test_stopping_a_turn_and_what_waits_spares_what_turns_before_it_spawned(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD))
    engine.say("next")
    engine.say("and more")

    stopped = engine.control.stop_turn(SESSION)

    assert (stopped.cancelled, stopped.children) == (2, 0)
    assert states(engine) == [RunState.QUEUED]
    assert engine.control.stop_turn(SESSION).run is None
    assert states(engine) == [RunState.QUEUED]


def test_a_stop_whose_stopper_dies_is_carried_out_by_the_sweep_for_that_run_alone(engine: EngineHarness) -> None:
    _, two = two_turns(engine)

    for _ in range(2):  # as by a stopper whose answer was lost, and who asked again
        engine.stores.inbox.stop(SESSION, Lane.MAIN, run=two.parent_run_id, reason="killed", cap=0, with_waiting=False)
    assert states(engine) == [RunState.QUEUED] * 2
    engine.sweeper.sweep()

    assert states(engine) == [RunState.QUEUED, RunState.KILLED]
    assert engine.stores.tree.stop_order(SESSION, two.parent_run_id) is None
    assert engine.stores.redis.hlen(engine.stores.keys.stop_orders) == 0


def test_a_child_that_ends_stops_what_that_run_spawned_and_not_what_an_earlier_one_did(engine: EngineHarness) -> None:
    # Given a child that has reported, whose own child is at work again for a person
    first_turn(engine, spawn(program(spawn(CHILD), *(say(f"middle's word {n}") for n in range(3)))))
    settle(engine)
    (middle,) = children(engine)
    (leaf,) = children(engine, middle.session_key)
    engine.say("and more?", leaf.session_key)
    # And which spawns again in a later run, and is stopped
    later = first_turn(engine, spawn(CHILD), middle.session_key)
    assert later[-1]["status"] == "accepted"
    run = engine.stores.inbox.current_run(middle.session_key)

    engine.control.stop_run(run or RunId(""))

    again, newest = children(engine, middle.session_key)[1:]
    assert newest.parent_run_id == run
    assert (again.state, newest.state) == (RunState.QUEUED, RunState.KILLED)


def test_stop_in_an_idle_session_says_how_many_sub_agents_it_stopped(engine: EngineHarness) -> None:
    two_turns(engine)

    assert reply_to(engine, "/stop") == "Stopped 2 sub-agents."

    assert states(engine) == [RunState.KILLED] * 2
    assert reply_to(engine, "/stop") == "Nothing is running."


def test_stop_says_that_a_sub_agent_at_work_has_still_to_end(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD))
    (child,) = children(engine)
    engine.take(child.session_key)

    assert reply_to(engine, "/stop") == "Stopping 1 sub-agent."


def test_stop_in_a_session_at_work_names_the_run_and_the_sub_agents(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD))
    following = engine.say("next")

    assert reply_to(engine, "/stop") == f"Stopped {following.run} and 1 sub-agent and cancelled 1 waiting message(s)."
