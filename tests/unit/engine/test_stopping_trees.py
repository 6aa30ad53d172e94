"""Stopping one run of a session in which others have spawned too: what it hits, what it spares, what is said of it."""

from __future__ import annotations

from openclaw_workers.engine.accept import Answered
from openclaw_workers.models.ids import RunId
from openclaw_workers.models.messages import Authority
from openclaw_workers.models.runs import Lane, Run, RunState
from openclaw_workers.models.tree import BatchState
from tests.support.programs import program, say, spawn
from tests.unit.engine.conftest import CLI, SESSION, House
from tests.unit.engine.tree_talk import CHILD, announces, children, first_turn, reread, settle

MIDDLE = program(spawn(CHILD), say("waiting"), say("never"))


def two_turns(house: House) -> tuple[Run, Run]:
    """Two turns are over, and of each a child waits to be carried."""
    first_turn(house, spawn(CHILD))
    first_turn(house, spawn(CHILD))
    one, two = children(house)
    assert one.parent_run_id != two.parent_run_id
    return one, two


def states(house: House) -> list[RunState]:
    return [run.state for run in children(house)]


def told(house: House, text: str) -> str:
    answered = house.intake.accept(text, session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(answered, Answered)
    return answered.text


def test_stopping_a_run_that_is_over_stops_what_it_left_at_work_and_nothing_of_others(house: House) -> None:
    one, two = two_turns(house)

    stopped = house.control.stop_run(two.parent_run_id or RunId(""))

    assert (stopped.run, stopped.begun, stopped.children) == (two.parent_run_id, False, 1)
    assert states(house) == [RunState.QUEUED, RunState.KILLED]
    assert settle(house) == [BatchState.DELIVERED] * 2
    assert reread(house, one).text == "child's word"
    assert house.control.stop_run(two.parent_run_id or RunId("")).run is None, "by now there is nothing left to stop"


def test_stopping_a_run_that_has_not_begun_spares_what_turns_before_it_spawned(house: House) -> None:
    first_turn(house, spawn(MIDDLE))
    house.runner.run(*house.waker.turns.pop(0))
    following = house.say("next")

    stopped = house.control.stop_run(following.run or RunId(""))

    assert (stopped.run, stopped.children, stopped.cancelled) == (following.run, 0, 1)
    assert states(house) == [RunState.PARKED]
    settle(house)
    assert "status: completed" in announces(house)[0]


def test_stopping_a_turn_and_what_waits_spares_what_turns_before_it_spawned(house: House) -> None:
    first_turn(house, spawn(CHILD))
    house.say("next")
    house.say("and more")

    stopped = house.control.stop_turn(SESSION)

    assert (stopped.cancelled, stopped.children) == (2, 0)
    assert states(house) == [RunState.QUEUED]
    assert house.control.stop_turn(SESSION).run is None
    assert states(house) == [RunState.QUEUED]


def test_a_stop_whose_stopper_dies_is_carried_out_by_the_sweep_for_that_run_alone(house: House) -> None:
    _, two = two_turns(house)

    for _ in range(2):  # as by a stopper whose answer was lost, and who asked again
        house.stores.inbox.stop(SESSION, Lane.MAIN, run=two.parent_run_id, reason="killed", cap=0, with_waiting=False)
    assert states(house) == [RunState.QUEUED] * 2
    house.sweeper.sweep()

    assert states(house) == [RunState.QUEUED, RunState.KILLED]
    assert house.stores.tree.reap(SESSION, two.parent_run_id) is None
    assert house.stores.redis.hlen(house.stores.keys.reaps) == 0


def test_a_child_that_ends_stops_what_that_run_spawned_and_not_what_an_earlier_one_did(house: House) -> None:
    # Given a child that has reported, whose own child is at work again for a person
    first_turn(house, spawn(program(spawn(CHILD), *(say(f"middle's word {n}") for n in range(3)))))
    settle(house)
    (middle,) = children(house)
    (leaf,) = children(house, middle.session_key)
    house.say("and more?", leaf.session_key)
    # And which spawns again in a later run, and is stopped
    later = first_turn(house, spawn(CHILD), middle.session_key)
    assert later[-1]["status"] == "accepted"
    run = house.stores.inbox.current_run(middle.session_key)

    house.control.stop_run(run or RunId(""))

    again, newest = children(house, middle.session_key)[1:]
    assert newest.parent_run_id == run
    assert (again.state, newest.state) == (RunState.QUEUED, RunState.KILLED)


def test_stop_in_an_idle_session_says_how_many_sub_agents_it_stopped(house: House) -> None:
    two_turns(house)

    assert told(house, "/stop") == "Stopped 2 sub-agents."

    assert states(house) == [RunState.KILLED] * 2
    assert told(house, "/stop") == "Nothing is running."


def test_stop_says_that_a_sub_agent_at_work_has_still_to_end(house: House) -> None:
    first_turn(house, spawn(CHILD))
    (child,) = children(house)
    house.take(child.session_key)

    assert told(house, "/stop") == "Stopping 1 sub-agent."


def test_stop_in_a_session_at_work_names_the_run_and_the_sub_agents(house: House) -> None:
    first_turn(house, spawn(CHILD))
    following = house.say("next")

    assert told(house, "/stop") == f"Stopped {following.run} and 1 sub-agent and cancelled 1 waiting message(s)."
