"""A session that nothing is stored of has the place that its parents and its key give it, in everything it may do."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.tools.policy.layers import DENIED_TO_LEAVES as DENIED
from openclaw_workers.tools.sessions.inputs import SubagentsInput
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import use
from tests.component.engine.tree_builder import answers, text
from tests.support.programs import say

DENIED_TO_LEAVES = set(DENIED)
LOOSE = SessionKey("agent:main:subagent:loose")


def prompt_and_tools(engine: EngineHarness, session: SessionKey) -> tuple[str, set[str]]:
    """The prompt that a session would be given, and its tools."""
    engine.say(text(say("hello")), session)
    setup = engine.built.preparer.prepare(engine.take(session), []).setup
    return setup.system, set(setup.tools)


def with_depth(make_engine: MakeEngine, deepest: int) -> EngineHarness:
    return make_engine({"agents": {"defaults": {"subagents": {"maxSpawnDepth": deepest}}}})


def patch(engine: EngineHarness, session: SessionKey, **row: str) -> None:
    engine.stores.redis.hset(engine.stores.keys.row(session), mapping=row)  # type: ignore[arg-type]


def test_a_session_with_a_sub_agents_key_learns_that_it_is_one(engine: EngineHarness) -> None:
    prompt, _ = prompt_and_tools(engine, LOOSE)
    main, _ = prompt_and_tools(engine, SESSION)

    assert prompt != main
    assert len(prompt) < len(main)


@pytest.mark.parametrize(("deepest", "controls"), [(1, False), (2, True)])
def test_its_tools_are_those_of_its_depth(make_engine: MakeEngine, deepest: int, controls: bool) -> None:
    engine = with_depth(make_engine, deepest)

    _, tools = prompt_and_tools(engine, LOOSE)

    assert (tools >= DENIED_TO_LEAVES) is controls
    assert DENIED_TO_LEAVES.isdisjoint(tools) is not controls


def test_the_chain_of_parents_goes_before_the_key(make_engine: MakeEngine) -> None:
    engine = with_depth(make_engine, 2)
    engine.say(text(say("hello")), LOOSE)
    patch(engine, LOOSE, spawnedBy="agent:main:subagent:above")

    tools = engine.built.preparer.prepare(engine.take(LOOSE), []).setup.tools

    assert DENIED_TO_LEAVES.isdisjoint(tools), "it is two deep"


def test_what_is_stored_goes_before_all_else(make_engine: MakeEngine) -> None:
    engine = with_depth(make_engine, 1)
    engine.say(text(say("hello")), LOOSE)
    patch(engine, LOOSE, spawnDepth="1", subagentRole="orchestrator")

    assert set(engine.built.preparer.prepare(engine.take(LOOSE), []).setup.tools) >= DENIED_TO_LEAVES


def test_a_stored_depth_that_is_no_number_is_reported(engine: EngineHarness) -> None:
    engine.say(text(say("hello")), LOOSE)
    patch(engine, LOOSE, spawnDepth="deep")

    with pytest.raises(CorruptRecord, match="spawnDepth is 'deep'"):
        engine.built.preparer.prepare(engine.take(LOOSE), [])


@pytest.mark.parametrize(("deepest", "status"), [(1, "forbidden"), (2, "ok")])
def test_it_controls_sub_agents_if_its_depth_allows_any(make_engine: MakeEngine, deepest: int, status: str) -> None:
    engine = with_depth(make_engine, deepest)
    engine.say(text(say("hello")), LOOSE)
    sessions = engine.built.session_tools.for_turn(engine.take(LOOSE))

    assert json.loads(sessions.subagents("c", SubagentsInput(action="list")))["status"] == status


@pytest.mark.parametrize(("deepest", "role"), [(1, "leaf"), (2, "orchestrator")])
def test_a_status_tells_its_depth_and_role(make_engine: MakeEngine, deepest: int, role: str) -> None:
    engine = with_depth(make_engine, deepest)
    engine.say(text(say("hello")), LOOSE)
    engine.work()
    engine.say(text(use("session_status", sessionKey=LOOSE), say("said")))
    engine.work()

    (status,) = answers(engine)
    assert (status["spawnDepth"], status["role"]) == (1, role)
