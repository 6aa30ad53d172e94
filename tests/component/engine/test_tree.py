"""A tree in one process: spawn, settle, announce, park, stop. Chords are left out; batches are announced by hand."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.llm.ledger import Ledger
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import send
from tests.component.engine.tree_builder import CHILD, announces, child, children, first_turn, pending, settle, text
from tests.support.programs import program, say, spawn


def test_children_of_one_message_are_announced_together_to_the_idle_parent(engine: EngineHarness) -> None:
    turn = text(spawn(program(say("one")), program(say("two"))), say("spawned"), say("heard"))
    queued = engine.say(turn)

    reported = settle(engine)

    assert reported == [BatchState.DELIVERED]
    assert [run.state for run in children(engine)] == [RunState.OK] * 2
    (announce,) = announces(engine)
    assert announce.count("status: completed") == 2
    assert "one" in announce
    assert "two" in announce
    assert engine.run_of(queued).text == "spawned"
    assert engine.stores.reader.runs()[0].text == "heard"
    assert engine.stores.tree.counts(SESSION, SESSION) == (0, 0)


def test_a_child_with_children_parks_and_reports_after_them(engine: EngineHarness) -> None:
    leaf = program(say("leaf"))
    middle = program(spawn(leaf, leaf), say("waiting"), say("middle done"))
    engine.say(text(spawn(middle), say("spawned"), say("heard")))
    engine.work()
    (child,) = children(engine)
    assert child.state is RunState.PARKED

    assert settle(engine) == [BatchState.DELIVERED, BatchState.DELIVERED]

    (child,) = children(engine)
    assert (child.state, child.text) == (RunState.OK, "middle done")
    assert len(announces(engine, child.session_key)) == 1
    assert len(announces(engine)) == 1


def test_calls_below_a_session_are_in_the_ledger_under_their_root(engine: EngineHarness) -> None:
    middle = program(spawn(CHILD), say("waiting"), say("middle done"))
    engine.say(text(spawn(middle), say("spawned"), say("heard")))
    settle(engine)
    below = child(engine).session_key
    calls = list(Ledger(engine.stores.redis, engine.stores.keys).calls())
    assert {call.session for call in calls} == {SESSION, below, child(engine, below).session_key}
    assert {call.tree for call in calls} == {SESSION}


def test_stopping_the_root_stops_everything_below_it_and_says_so(engine: EngineHarness) -> None:
    leaf = program(say("leaf"))
    middle = program(spawn(leaf, leaf), say("waiting"), say("middle done"))
    engine.say(text(spawn(middle, leaf), say("spawned"), say("heard")))
    session, run = engine.waker.turns.pop(0)
    engine.runner.run(session, run)
    engine.runner.run(*engine.waker.turns.pop(0))
    assert [child.state for child in children(engine)] == [RunState.PARKED, RunState.QUEUED]

    engine.control.stop_session(SESSION)
    reported = settle(engine)

    assert [child.state for child in children(engine)] == [RunState.KILLED] * 2
    (middle_run, _) = children(engine)
    assert [child.state for child in children(engine, middle_run.session_key)] == [RunState.KILLED] * 2
    assert sorted(str(each) for each in reported) == ["delivered", "folded"]
    (announce,) = announces(engine)
    assert announce.count("status: failed (killed)") == 4
    assert engine.stores.tree.counts(SESSION, SESSION) == (0, 0)


def test_limits_count_what_is_at_work(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"subagents": {"maxChildrenPerAgent": 2}}}})
    engine.say(text(spawn(*[program(say("x"))] * 3), say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))

    results = [json.loads(entry.content[0].text) for entry in engine.log() if entry.role == "toolResult"]
    assert [result["status"] for result in results] == ["accepted", "accepted", "forbidden"]
    assert "2" in results[2]["error"]


def test_a_child_whose_records_are_damaged_keeps_no_sibling_at_work(engine: EngineHarness) -> None:
    first_turn(engine, spawn(CHILD, CHILD, CHILD))
    damaged, *others = children(engine)
    redis, keys = engine.stores.redis, engine.stores.keys
    redis.delete(keys.receipts(damaged.session_key))
    redis.set(keys.receipts(damaged.session_key), "no hash")

    with pytest.raises(CorruptRecord):
        engine.control.stop_session(SESSION)

    known = {run.id: run.state for run in children(engine)}
    assert {known[run.id] for run in others} == {RunState.KILLED}
    assert engine.stores.tree.stop_order(SESSION) is not None, "the damaged one is still to be stopped"


def test_results_that_wait_survive_an_interrupt_and_a_stop(make_engine: MakeEngine) -> None:
    """I4: a person who interrupts or stops the parent takes nothing away that its children found out."""
    engine = make_engine({"messages": {"queue": {"mode": "interrupt", "debounceMs": 0}}})
    engine.say(text(spawn(program(say("found"))), say("spawned")))
    engine.runner.run(*engine.waker.turns.pop(0))
    engine.runner.run(*engine.waker.turns.pop(0))
    (child,) = children(engine)
    assert child.batch is not None
    engine.say(text(say("busy")))
    assert engine.announcer.announce(child.batch) is BatchState.DELIVERED

    engine.say(text(say("instead")))
    engine.control.stop_session(SESSION)
    engine.work()

    assert len(announces(engine)) == 1


def test_a_message_to_a_settled_child_makes_another_child_of_its_parent(engine: EngineHarness) -> None:
    engine.say(text(spawn(program(say("first"))), say("spawned"), say("heard"), say("heard again")))
    engine.work()
    settle(engine)
    (first,) = children(engine)

    engine.say(json.dumps(program(say("second"))), first.session_key)
    engine.work()

    _, second = children(engine)
    assert (second.session_key, second.parent_run_id, second.text) == (
        first.session_key,
        first.parent_run_id,
        "second",
    )


def test_results_that_a_stopped_child_did_not_hear_are_in_its_own_announce(engine: EngineHarness) -> None:
    middle = program(spawn(program(say("deep"))), say("waiting"), say("never"))
    engine.say(text(spawn(middle), say("spawned"), say("heard")))
    for _ in range(3):
        engine.runner.run(*engine.waker.turns.pop(0))
    (child,) = children(engine)
    (grandchild,) = children(engine, child.session_key)
    assert grandchild.batch is not None
    assert engine.announcer.announce(grandchild.batch) is BatchState.DELIVERED

    engine.control.stop_session(child.session_key)
    settle(engine)

    (announce,) = announces(engine)
    assert announce.count("status:") == 2
    assert "deep" in announce
    assert announces(engine, child.session_key) == []


def test_what_a_stopped_run_did_not_hear_is_reported_above_it_also_if_an_earlier_run_had_spawned_it(
    engine: EngineHarness,
) -> None:
    leaf = program(say("leaf's word"), say("leaf's second word"))
    engine.say(text(spawn(program(spawn(leaf), say("waiting"), say("done"))), *(say("heard") for _ in range(6))))
    settle(engine)
    middle = child(engine)
    leaf_session = child(engine, middle.session_key).session_key
    again = send(leaf_session, "go on", timeoutSeconds=0)
    engine.say(text(again, say("asked again"), say("heard again")), middle.session_key)
    engine.work()
    for batch in pending(engine):
        engine.announcer.announce(batch)
    assert engine.ctl("state", middle.session_key) == "queued", (
        "the leaf's second word is there, and nobody has read it"
    )

    engine.control.stop_session(middle.session_key)
    settle(engine)

    assert sum("\nleaf's second word\n" in reported for reported in announces(engine)) == 1
