"""A tree in one process: spawn, settle, announce, park, stop. Chords are left out; batches are announced by hand."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.errors import CorruptRecord
from openclaw_workers.models.runs import RunState
from openclaw_workers.models.tree import BatchState
from openclaw_workers.store.ledger import Ledger
from tests.support.programs import program, say, spawn
from tests.unit.engine.conftest import SESSION, House, MakeHouse
from tests.unit.engine.session_talk import send
from tests.unit.engine.tree_talk import CHILD, announces, child, children, first_turn, pending, settle, text


def test_children_of_one_message_are_announced_together_to_the_idle_parent(house: House) -> None:
    turn = text(spawn(program(say("one")), program(say("two"))), say("spawned"), say("heard"))
    queued = house.say(turn)

    told = settle(house)

    assert told == [BatchState.DELIVERED]
    assert [run.state for run in children(house)] == [RunState.OK] * 2
    (announce,) = announces(house)
    assert announce.count("status: completed") == 2
    assert "one" in announce
    assert "two" in announce
    assert house.run_of(queued).text == "spawned"
    assert house.stores.reader.runs()[0].text == "heard"
    assert house.stores.tree.counts(SESSION, SESSION) == (0, 0)


def test_a_child_with_children_parks_and_reports_after_them(house: House) -> None:
    leaf = program(say("leaf"))
    middle = program(spawn(leaf, leaf), say("waiting"), say("middle done"))
    house.say(text(spawn(middle), say("spawned"), say("heard")))
    house.work()
    (child,) = children(house)
    assert child.state is RunState.PARKED

    assert settle(house) == [BatchState.DELIVERED, BatchState.DELIVERED]

    (child,) = children(house)
    assert (child.state, child.text) == (RunState.OK, "middle done")
    assert len(announces(house, child.session_key)) == 1
    assert len(announces(house)) == 1


def test_calls_below_a_session_are_in_the_ledger_under_their_root(house: House) -> None:
    middle = program(spawn(CHILD), say("waiting"), say("middle done"))
    house.say(text(spawn(middle), say("spawned"), say("heard")))
    settle(house)
    below = child(house).session_key
    calls = list(Ledger(house.stores.redis, house.stores.keys).calls())
    assert {call.session for call in calls} == {SESSION, below, child(house, below).session_key}
    assert {call.tree for call in calls} == {SESSION}


def test_stopping_the_root_stops_everything_below_it_and_says_so(house: House) -> None:
    leaf = program(say("leaf"))
    middle = program(spawn(leaf, leaf), say("waiting"), say("middle done"))
    house.say(text(spawn(middle, leaf), say("spawned"), say("heard")))
    session, run = house.waker.turns.pop(0)
    house.runner.run(session, run)
    house.runner.run(*house.waker.turns.pop(0))
    assert [child.state for child in children(house)] == [RunState.PARKED, RunState.QUEUED]

    house.control.stop_session(SESSION)
    told = settle(house)

    assert [child.state for child in children(house)] == [RunState.KILLED] * 2
    (middle_run, _) = children(house)
    assert [child.state for child in children(house, middle_run.session_key)] == [RunState.KILLED] * 2
    assert sorted(str(each) for each in told) == ["delivered", "folded"]
    (announce,) = announces(house)
    assert announce.count("status: failed (killed)") == 4
    assert house.stores.tree.counts(SESSION, SESSION) == (0, 0)


def test_limits_count_what_is_at_work(make_house: MakeHouse) -> None:
    house = make_house({"agents": {"defaults": {"subagents": {"maxChildrenPerAgent": 2}}}})
    house.say(text(spawn(*[program(say("x"))] * 3), say("spawned"), say("heard")))
    house.runner.run(*house.waker.turns.pop(0))

    results = [json.loads(entry.content[0].text) for entry in house.log() if entry.role == "toolResult"]
    assert [result["status"] for result in results] == ["accepted", "accepted", "forbidden"]
    assert "2" in results[2]["error"]


def test_a_child_whose_records_are_damaged_keeps_no_sibling_at_work(house: House) -> None:
    first_turn(house, spawn(CHILD, CHILD, CHILD))
    damaged, *others = children(house)
    redis, keys = house.stores.redis, house.stores.keys
    redis.delete(keys.receipts(damaged.session_key))
    redis.set(keys.receipts(damaged.session_key), "no hash")

    with pytest.raises(CorruptRecord):
        house.control.stop_session(SESSION)

    known = {run.id: run.state for run in children(house)}
    assert {known[run.id] for run in others} == {RunState.KILLED}
    assert house.stores.tree.reap(SESSION) is not None, "the damaged one is still to be stopped"


def test_results_that_wait_survive_an_interrupt_and_a_stop(make_house: MakeHouse) -> None:
    """I4: a person who interrupts or stops the parent takes nothing away that its children found out."""
    house = make_house({"messages": {"queue": {"mode": "interrupt", "debounceMs": 0}}})
    house.say(text(spawn(program(say("found"))), say("spawned")))
    house.runner.run(*house.waker.turns.pop(0))
    house.runner.run(*house.waker.turns.pop(0))
    (child,) = children(house)
    assert child.batch is not None
    house.say(text(say("busy")))
    assert house.announcer.announce(child.batch) is BatchState.DELIVERED

    house.say(text(say("instead")))
    house.control.stop_session(SESSION)
    house.work()

    assert len(announces(house)) == 1


def test_a_message_to_a_settled_child_makes_another_child_of_its_parent(house: House) -> None:
    house.say(text(spawn(program(say("first"))), say("spawned"), say("heard"), say("heard again")))
    house.work()
    settle(house)
    (first,) = children(house)

    house.say(json.dumps(program(say("second"))), first.session_key)
    house.work()

    _, second = children(house)
    assert (second.session_key, second.parent_run_id, second.text) == (
        first.session_key,
        first.parent_run_id,
        "second",
    )


def test_results_that_a_stopped_child_did_not_hear_are_in_its_own_announce(house: House) -> None:
    middle = program(spawn(program(say("deep"))), say("waiting"), say("never"))
    house.say(text(spawn(middle), say("spawned"), say("heard")))
    for _ in range(3):
        house.runner.run(*house.waker.turns.pop(0))
    (child,) = children(house)
    (grandchild,) = children(house, child.session_key)
    assert grandchild.batch is not None
    assert house.announcer.announce(grandchild.batch) is BatchState.DELIVERED

    house.control.stop_session(child.session_key)
    settle(house)

    (announce,) = announces(house)
    assert announce.count("status:") == 2
    assert "deep" in announce
    assert announces(house, child.session_key) == []


def test_what_a_stopped_run_did_not_hear_is_told_above_it_also_if_an_earlier_run_had_spawned_it(house: House) -> None:
    leaf = program(say("leaf's word"), say("leaf's second word"))
    house.say(text(spawn(program(spawn(leaf), say("waiting"), say("done"))), *(say("heard") for _ in range(6))))
    settle(house)
    middle = child(house)
    leaf_session = child(house, middle.session_key).session_key
    again = send(leaf_session, "go on", timeoutSeconds=0)
    house.say(text(again, say("asked again"), say("heard again")), middle.session_key)
    house.work()
    for batch in pending(house):
        house.announcer.announce(batch)
    assert house.ctl("state", middle.session_key) == "queued", "the leaf's second word is there, and nobody has read it"

    house.control.stop_session(middle.session_key)
    settle(house)

    assert sum("\nleaf's second word\n" in told for told in announces(house)) == 1
