"""A session that nothing is stored of has the place that its parents and its key give it, in everything it may do."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.engine.session_port import TurnSessions
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.tools.policy import SESSION_CONTROL
from openclaw_workers.tools.session_input import SubagentsInput
from tests.support.programs import say
from tests.unit.engine.conftest import SESSION, House, MakeHouse
from tests.unit.engine.session_talk import use
from tests.unit.engine.tree_talk import answers, text

LOOSE = SessionKey("agent:main:subagent:loose")


def told(house: House, session: SessionKey) -> tuple[str, set[str]]:
    """The prompt that a session would be given, and its tools."""
    house.say(text(say("hello")), session)
    setup = house.preparer.prepare(house.take(session), []).setup
    return setup.system, set(setup.tools)


def with_depth(make_house: MakeHouse, deepest: int) -> House:
    return make_house({"agents": {"defaults": {"subagents": {"maxSpawnDepth": deepest}}}})


def patch(house: House, session: SessionKey, **row: str) -> None:
    house.stores.redis.hset(house.stores.keys.row(session), mapping=row)  # type: ignore[arg-type]


def test_a_session_with_a_sub_agents_key_is_told_that_it_is_one(house: House) -> None:
    prompt, _ = told(house, LOOSE)
    main, _ = told(house, SESSION)

    assert prompt != main
    assert len(prompt) < len(main)


@pytest.mark.parametrize(("deepest", "controls"), [(1, False), (2, True)])
def test_its_tools_are_those_of_its_depth(make_house: MakeHouse, deepest: int, controls: bool) -> None:
    house = with_depth(make_house, deepest)

    _, tools = told(house, LOOSE)

    assert (tools >= SESSION_CONTROL) is controls
    assert SESSION_CONTROL.isdisjoint(tools) is not controls


def test_the_chain_of_parents_goes_before_the_key(make_house: MakeHouse) -> None:
    house = with_depth(make_house, 2)
    house.say(text(say("hello")), LOOSE)
    patch(house, LOOSE, spawnedBy="agent:main:subagent:above")

    tools = house.preparer.prepare(house.take(LOOSE), []).setup.tools

    assert SESSION_CONTROL.isdisjoint(tools), "it is two deep"


def test_what_is_stored_goes_before_all_else(make_house: MakeHouse) -> None:
    house = with_depth(make_house, 1)
    house.say(text(say("hello")), LOOSE)
    patch(house, LOOSE, spawnDepth="1", subagentRole="orchestrator")

    assert set(house.preparer.prepare(house.take(LOOSE), []).setup.tools) >= SESSION_CONTROL


def test_a_stored_depth_that_is_no_number_is_reported(house: House) -> None:
    house.say(text(say("hello")), LOOSE)
    patch(house, LOOSE, spawnDepth="deep")

    with pytest.raises(CorruptRecord, match="spawnDepth is 'deep'"):
        house.preparer.prepare(house.take(LOOSE), [])


@pytest.mark.parametrize(("deepest", "status"), [(1, "forbidden"), (2, "ok")])
def test_it_controls_sub_agents_if_its_depth_allows_any(make_house: MakeHouse, deepest: int, status: str) -> None:
    house = with_depth(make_house, deepest)
    house.say(text(say("hello")), LOOSE)
    sessions = TurnSessions(house.runner._spawner, house.take(LOOSE))

    assert json.loads(sessions.subagents("c", SubagentsInput(action="list")))["status"] == status


@pytest.mark.parametrize(("deepest", "role"), [(1, "leaf"), (2, "orchestrator")])
def test_a_status_tells_its_depth_and_role(make_house: MakeHouse, deepest: int, role: str) -> None:
    house = with_depth(make_house, deepest)
    house.say(text(say("hello")), LOOSE)
    house.work()
    house.say(text(use("session_status", sessionKey=LOOSE), say("said")))
    house.work()

    (status,) = answers(house)
    assert (status["spawnDepth"], status["role"]) == (1, role)
