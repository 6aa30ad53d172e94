"""`deliver`: what a child says and does while it works is shown to those who watch its parent."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.tree_builder import ask, child, first_turn, settle, shown
from tests.support.programs import call, execute, program, say, spawn

WORK = program(call(execute("echo out"), text="I look. "), say("That is it."))


def test_words_and_tools_of_a_child_are_shown_to_those_who_watch_its_parent(engine: EngineHarness) -> None:
    ask(engine, task=WORK, deliver=True, label="looker", metadata={"k": ["v", 1]})

    settle(engine)

    run = child(engine)
    deltas, tools = shown(engine, "subagent.delta"), shown(engine, "subagent.tool")
    assert "".join(each["text"] for each in deltas) == "I look. That is it."
    assert [each["phase"] for each in tools if each["phase"] != "output"] == ["started", "ended"]
    assert {each["tool"] for each in tools if "tool" in each} == {"exec"}
    for each in (*deltas, *tools):
        assert (each["run"], each["session"], each["label"]) == (run.id, run.session_key, "looker")
        assert each["metadata"] == {"k": ["v", 1]}


def test_what_was_not_asked_for_is_not_shown_and_costs_no_script(engine: EngineHarness) -> None:
    def scripts() -> int:
        stats: Any = engine.stores.redis.info("commandstats")
        return int(stats["cmdstat_evalsha"]["calls"])

    spent = []
    for deliver in (False, False, True):  # the first turn also makes the place of the agent
        before = scripts()
        assert first_turn(engine, spawn(program(say("quick")), deliver=deliver))[-1]["status"] == "accepted"
        settle(engine)
        spent.append(scripts() - before)

    assert spent[2] == spent[1] + 1, "only the last words, which nobody above would see otherwise"
    assert [each["text"] for each in shown(engine, "subagent.delta")] == ["quick"]


def test_an_owner_that_lost_its_lease_is_not_heard_above_either(engine: EngineHarness) -> None:
    ask(engine, task=WORK, deliver=True)
    run = child(engine)
    freshness = engine.built.resets.times(run.session_key)
    taken = engine.turns.take(
        run.session_key, run.id, run.lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
    )
    assert isinstance(taken, Taken)
    engine.control.delete(run.session_key)

    with pytest.raises(LeaseLost):
        engine.turns.emit(taken.lease, [{"type": "text.delta", "data": {"text": "late"}}])

    assert shown(engine, "subagent.delta") == []


def test_a_parent_that_was_deleted_does_not_come_back_by_what_its_child_says(engine: EngineHarness) -> None:
    ask(engine, task=WORK, deliver=True)
    run = child(engine)
    taken = engine.turns.take(
        run.session_key,
        run.id,
        run.lane,
        nonce="n",
        time_ms=60_000,
        freshness=engine.built.resets.times(run.session_key),
        may_suspect=True,
    )
    assert isinstance(taken, Taken)
    assert run.requester_session_key is not None
    engine.control.delete(run.requester_session_key)

    engine.turns.emit(taken.lease, [{"type": "text.delta", "data": {"text": "late"}}])

    assert engine.stores.redis.exists(engine.stores.keys.ctl(run.requester_session_key)) == 0


def test_what_a_child_was_spawned_with_reaches_the_viewers_as_it_was_given(engine: EngineHarness) -> None:
    given = {"ticket": 2**53, "part": 0.12345678901234568, "tags": [], "rows": [[], {}]}
    ask(engine, task=WORK, deliver=True, metadata=given)

    settle(engine)

    reported = [event for event in engine.stores.reader.events(SESSION, "0") if event.type.startswith("subagent.")]
    assert {event.type for event in reported} >= {"subagent.spawned", "subagent.started", "subagent.announced"}
    for event in reported:
        shown = event.data["runs"] if event.type == "subagent.announced" else [event.data]
        assert [each["metadata"] for each in shown] == [given], event.type
