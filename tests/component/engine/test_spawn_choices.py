"""Which agent, model, thinking, time limit and lane a child gets."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.tree import Role
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.spawn_steps import with_subagents
from tests.component.engine.tree_builder import (
    CHILD,
    ask,
    child,
    children,
    first_turn,
    reread,
    row,
    settle,
    text,
)
from tests.support.programs import call, program, spawn

TWO_AGENTS = {"defaults": {"subagents": {"allowAgents": ["*"]}}, "list": [{"id": "main"}, {"id": "coder"}]}


@pytest.mark.parametrize("allowed", [["*"], ["coder"]])
def test_another_agent_does_it_where_that_is_allowed(make_engine: MakeEngine, allowed: list[str]) -> None:
    agents = {**TWO_AGENTS, "defaults": {"subagents": {"allowAgents": allowed}}}
    engine = make_engine({"agents": agents})

    answer = ask(engine, agentId="coder")

    assert answer["childSessionKey"].startswith("agent:coder:subagent:")
    stored = row(engine, SessionKey(answer["childSessionKey"]))
    assert "spawnedWorkspaceDir" not in stored
    settle(engine)
    assert child(engine).text == "child's word"
    assert (engine.loaded.state_dir / "workspace-coder").is_dir()


def test_a_child_of_an_agent_that_may_not_nest_is_a_leaf(make_engine: MakeEngine) -> None:
    """What it is told, the tools it has and what it may do agree."""
    coder = {"id": "coder", "subagents": {"maxSpawnDepth": 1}}
    engine = make_engine({"agents": {**TWO_AGENTS, "list": [{"id": "main"}, coder]}})

    answer = ask(engine, agentId="coder")

    assert answer["role"] == Role.LEAF
    engine.work()
    asked = engine.log(answer["childSessionKey"])[0].content[0].text  # type: ignore[union-attr]
    assert "at depth 1 of 1" in asked
    assert "You cannot start sub-agents" in asked


def test_naming_oneself_is_always_allowed(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(requireAgentId=True))
    assert ask(engine, agentId="main")["status"] == "accepted"


def choices(engine: EngineHarness) -> tuple[str, str, str]:
    stored = row(engine, child(engine).session_key)
    return stored.get("providerOverride", ""), stored.get("modelOverride", ""), stored.get("thinkingLevel", "")


def test_model_and_thinking_of_children_by_configuration(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model="offline/demo", thinking="low"))
    ask(engine)
    assert choices(engine) == ("offline", "demo", "low")
    engine.work()
    assert child(engine).model == "offline/demo"


@pytest.mark.parametrize(
    ("model", "answered"),
    [
        ({"primary": "offline/script", "fallbacks": ["offline/demo"]}, "offline/demo"),
        ({"fallbacks": ["offline/demo"]}, "offline/demo"),
        ({"primary": "offline/script", "fallbacks": []}, None),
        ({"primary": "offline/script"}, None),
    ],
)
def test_children_have_the_fallbacks_that_are_configured_for_them(
    make_engine: MakeEngine, model: dict[str, Any], answered: str | None
) -> None:
    engine = make_engine(with_subagents(model=model))
    ask(engine, task=program({"fail": "auth"}))
    engine.work()

    run = child(engine)
    if answered:
        assert (run.state, run.model, run.fallback_from) == (RunState.OK, answered, "offline/script")
    else:
        assert run.state is RunState.ERROR


def test_the_fallbacks_of_children_are_not_those_of_the_main_session(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model={"primary": "offline/script", "fallbacks": ["offline/demo"]}))
    queued = engine.say(text({"fail": "auth"}))
    engine.work()

    assert engine.run_of(queued).state is RunState.ERROR


def test_a_call_overrides_what_is_configured_for_children(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model="offline/demo", thinking="low"))
    ask(engine, model="offline/script", thinking="high")
    assert choices(engine) == ("offline", "script", "high")


def test_an_agents_own_setting_for_its_children_goes_first(make_engine: MakeEngine) -> None:
    defaults = {"subagents": {"model": "offline/demo", "thinking": "low"}}
    own = {"id": "main", "subagents": {"thinking": "medium"}}
    engine = make_engine({"agents": {"defaults": defaults, "list": [own]}})
    ask(engine)
    assert choices(engine) == ("offline", "demo", "medium")


def test_a_child_of_the_same_agent_inherits_what_its_parents_session_chose(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    engine.stores.sessions.patch(
        SESSION, {"providerOverride": "offline", "modelOverride": "script", "thinkingLevel": "high"}
    )
    ask(engine)
    assert choices(engine) == ("offline", "script", "high")


def test_a_child_of_another_agent_inherits_no_choice(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": TWO_AGENTS})
    engine.say("hello")
    engine.work()
    engine.stores.sessions.patch(SESSION, {"thinkingLevel": "high"})
    ask(engine, agentId="coder")
    assert choices(engine) == ("", "", "")


def test_the_timeout_of_children_by_configuration_and_by_call(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(runTimeoutSeconds=9))
    reported = call(
        {"tool": "sessions_spawn", "input": {"task": "x"}},
        {"tool": "sessions_spawn", "input": {"task": "y", "runTimeoutSeconds": 3}},
        {"tool": "sessions_spawn", "input": {"task": "z", "timeoutSeconds": 0}},
    )
    first_turn(engine, reported)
    assert [run.timeout_ms for run in children(engine)] == [9000, 3000, None]

    engine.runner.run(*engine.waker.turns.pop(0))
    first = reread(engine, children(engine)[0])
    assert first.deadline_at is not None
    assert first.started_at is not None
    assert first.deadline_at - first.started_at == 9000


def test_the_timeout_of_a_child_holds_for_later_messages_also_when_its_parent_is_gone(engine: EngineHarness) -> None:
    first_turn(engine, call({"tool": "sessions_spawn", "input": {"task": "x", "runTimeoutSeconds": 3}}))
    only = child(engine)
    settle(engine)
    engine.stores.redis.delete(engine.stores.keys.ctl(SESSION))

    later = engine.say("and now?", only.session_key)

    assert later.run is not None
    found = engine.stores.reader.run(later.run)
    assert found is not None
    assert (found.timeout_ms, found.batch) == (3000, None)


@pytest.mark.parametrize("config", [with_subagents(maxConcurrent=1), {"lanes": {"subagent": {"maxConcurrent": 1}}}])
def test_max_concurrent_caps_the_lane(make_engine: MakeEngine, config: dict[str, Any]) -> None:
    # Given two children where one may work at a time
    engine = make_engine(config)
    first_turn(engine, spawn(CHILD, CHILD))
    one, two = children(engine)
    freshness = engine.built.resets.times(one.session_key)
    taken = engine.turns.take(
        one.session_key, one.id, one.lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
    )
    assert isinstance(taken, Taken)
    engine.waker.turns.clear()

    # Then the second stands in line, holding nobody
    assert engine.runner.run(two.session_key, two.id) is None
    assert reread(engine, two).state is RunState.QUEUED
    assert engine.stores.redis.zrange(engine.stores.keys.line(Lane.SUBAGENT), 0, -1) == [f"{two.id} {two.session_key}"]

    # And it is woken when the first is done
    engine.control.stop_session(one.session_key)
    engine.turns.release(taken.lease)
    engine.runner.run(one.session_key, one.id)
    assert (two.session_key, two.id) in engine.waker.turns
    settle(engine)
    assert [run.state for run in children(engine)] == [RunState.KILLED, RunState.OK]
