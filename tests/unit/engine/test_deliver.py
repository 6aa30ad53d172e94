"""`deliver`: what a child says and does while it works is shown to those who watch its parent."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.turns import Taken
from tests.support.programs import call, execute, program, say, spawn
from tests.unit.engine.conftest import SESSION, House
from tests.unit.engine.tree_talk import ask, child, first_turn, settle, shown

WORK = program(call(execute("echo out"), text="I look. "), say("That is it."))


def test_words_and_tools_of_a_child_are_shown_to_those_who_watch_its_parent(house: House) -> None:
    ask(house, task=WORK, deliver=True, label="looker", metadata={"k": ["v", 1]})

    settle(house)

    run = child(house)
    deltas, tools = shown(house, "subagent.delta"), shown(house, "subagent.tool")
    assert "".join(each["text"] for each in deltas) == "I look. That is it."
    assert [each["phase"] for each in tools if each["phase"] != "output"] == ["started", "ended"]
    assert {each["tool"] for each in tools if "tool" in each} == {"exec"}
    for each in (*deltas, *tools):
        assert (each["run"], each["session"], each["label"]) == (run.id, run.session_key, "looker")
        assert each["metadata"] == {"k": ["v", 1]}


def test_what_was_not_asked_for_is_not_shown_and_costs_no_script(house: House) -> None:
    def scripts() -> int:
        stats: Any = house.stores.redis.info("commandstats")
        return int(stats["cmdstat_evalsha"]["calls"])

    spent = []
    for deliver in (False, True):
        before = scripts()
        assert first_turn(house, spawn(program(say("quick")), deliver=deliver))[-1]["status"] == "accepted"
        settle(house)
        spent.append(scripts() - before)

    assert spent[1] == spent[0] + 1, "only the last words, which nobody above would see otherwise"
    assert [each["text"] for each in shown(house, "subagent.delta")] == ["quick"]


def test_an_owner_that_lost_its_lease_is_not_heard_above_either(house: House) -> None:
    ask(house, task=WORK, deliver=True)
    run = child(house)
    freshness = house.preparer.freshness(run.session_key)
    taken = house.turns.take(
        run.session_key, run.id, run.lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
    )
    assert isinstance(taken, Taken)
    house.control.delete(run.session_key)

    with pytest.raises(LeaseLost):
        house.turns.emit(taken.lease, [{"type": "text.delta", "data": {"text": "late"}}])

    assert shown(house, "subagent.delta") == []


def test_a_parent_that_was_deleted_does_not_come_back_by_what_its_child_says(house: House) -> None:
    ask(house, task=WORK, deliver=True)
    run = child(house)
    taken = house.turns.take(
        run.session_key,
        run.id,
        run.lane,
        nonce="n",
        time_ms=60_000,
        freshness=house.preparer.freshness(run.session_key),
        may_suspect=True,
    )
    assert isinstance(taken, Taken)
    assert run.requester_session_key is not None
    house.control.delete(run.requester_session_key)

    house.turns.emit(taken.lease, [{"type": "text.delta", "data": {"text": "late"}}])

    assert house.stores.redis.exists(house.stores.keys.ctl(run.requester_session_key)) == 0


def test_what_a_child_was_spawned_with_reaches_the_viewers_as_it_was_given(house: House) -> None:
    given = {"ticket": 2**53, "part": 0.12345678901234568, "tags": [], "rows": [[], {}]}
    ask(house, task=WORK, deliver=True, metadata=given)

    settle(house)

    told = [event for event in house.stores.reader.events(SESSION, "0") if event.type.startswith("subagent.")]
    assert {event.type for event in told} >= {"subagent.spawned", "subagent.started", "subagent.announced"}
    for event in told:
        shown = event.data["runs"] if event.type == "subagent.announced" else [event.data]
        assert [each["metadata"] for each in shown] == [given], event.type
