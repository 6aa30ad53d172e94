"""Which agent answers, and its effective settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.resolve import (
    Overrides,
    agent_ids,
    default_agent_id,
    default_model,
    lane_cap,
    resolve_agent,
    resolve_agent_id,
    workspace_dir,
)
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.runs import Lane
from openclaw_workers.errors import BadInput, NotFound
from tests.unit.config.conftest import LoadText
from tests.unit.config.test_articles import FIXTURES

STATE = Path("/state")


def with_agents(**agents: Any) -> Settings:
    return Settings.model_validate({"agents": agents})


def test_the_five_steps_of_choosing_an_agent() -> None:
    marked = with_agents(list=[{"id": "first"}, {"id": "second", "default": True}, {"id": "third"}])
    unmarked = with_agents(list=[{"id": "first"}, {"id": "second"}])
    key = "agent:third:main"

    assert resolve_agent_id(marked, explicit="first", session_key=key) == "first"
    assert resolve_agent_id(marked, session_key=key) == "third"
    assert resolve_agent_id(marked) == "second"
    assert resolve_agent_id(unmarked) == "first"
    assert resolve_agent_id(Settings()) == "main"


def test_a_key_without_an_agent_belongs_to_the_default_one() -> None:
    settings = with_agents(list=[{"id": "a"}, {"id": "b", "default": True}])

    assert resolve_agent_id(settings, session_key="cron:nightly") == "b"
    assert resolve_agent_id(settings, session_key="global") == "b"


def test_an_unknown_agent_is_not_replaced_by_another_one() -> None:
    settings = with_agents(list=[{"id": "code-reviewer"}, {"id": "research"}])

    with pytest.raises(NotFound, match="no agent 'code-revewer'; did you mean 'code-reviewer'"):
        resolve_agent_id(settings, explicit="code-revewer")
    with pytest.raises(NotFound, match="there are code-reviewer, research"):
        resolve_agent_id(settings, session_key="agent:zzz:main")
    with pytest.raises(BadInput):
        resolve_agent_id(settings, session_key="agent:")
    with pytest.raises(NotFound):
        resolve_agent(settings, "main")


def test_profiles_are_agents_like_those_of_the_list() -> None:
    settings = with_agents(profiles={"a": {}, "b": {"sandbox": "restricted", "authDir": "/auth"}})

    assert agent_ids(settings) == ["a", "b"]
    assert default_agent_id(settings) == "a"
    assert resolve_agent(settings, "b").sandbox.mode == "all"
    assert resolve_agent(settings, "b").auth_dir == Path("/auth")
    assert default_agent_id(with_agents(defaultAgent="b", profiles={"a": {}, "b": {}})) == "b"


def test_defaults_then_agent_then_session_then_call() -> None:
    settings = with_agents(
        defaults={
            "model": {"primary": "p/defaults", "fallbacks": ["p/fallback"]},
            "thinkingDefault": "minimal",
            "contextTokens": 1000,
            "timeoutSeconds": 10,
        },
        list=[{"id": "a", "model": "p/agent", "thinkingDefault": "low", "contextTokens": 2000}],
    )
    session = Overrides(model="p/session", thinking="medium", timeout_seconds=20, context_tokens=3000)
    call = Overrides(model="p/call", thinking="high", timeout_seconds=30, context_tokens=4000)

    agent = resolve_agent(settings, "a")
    in_session = resolve_agent(settings, "a", session_overrides=session)
    in_call = resolve_agent(settings, "a", session_overrides=session, call=call)

    def facts(config: Any) -> tuple[Any, ...]:
        return config.primary, config.thinking_default, config.context_tokens, config.timeout_seconds

    assert facts(agent) == ("p/agent", "low", 2000, 10)
    assert facts(in_session) == ("p/session", "medium", 3000, 20)
    assert facts(in_call) == ("p/call", "high", 4000, 30)
    assert agent.fallbacks == in_call.fallbacks == ("p/fallback",)


def test_extra_system_prompts_are_appended_from_defaults_to_agent() -> None:
    settings = with_agents(
        defaults={"extraSystemPrompt": "defaults\n"}, list=[{"id": "a", "extraSystemPrompt": "agent"}, {"id": "b"}]
    )

    assert resolve_agent(settings, "a").extra_system_prompt == "defaults\n\nagent"
    assert resolve_agent(settings, "b").extra_system_prompt.strip() == "defaults"
    assert resolve_agent(Settings(), "main").extra_system_prompt == ""


def test_an_agent_overrides_single_keys_of_a_section_but_replaces_its_tools() -> None:
    settings = with_agents(
        defaults={
            "compaction": {"mode": "default", "memoryFlush": {"softThresholdTokens": 5}},
            "tools": {"profile": "coding", "deny": ["exec"]},
            "subagents": {"maxSpawnDepth": 1},
        },
        list=[
            {
                "id": "a",
                "compaction": {"memoryFlush": {"enabled": False}},
                "tools": {"profile": "full"},
                "subagents": {"allowAgents": ["*"]},
            }
        ],
    )

    agent = resolve_agent(settings, "a")

    assert agent.compaction.mode == "default"
    assert agent.compaction.memory_flush.enabled is False
    assert agent.compaction.memory_flush.soft_threshold_tokens == 5
    assert (agent.tools.profile, agent.tools.deny) == ("full", ())
    assert (agent.subagents.max_spawn_depth, agent.subagents.allow_agents) == (1, ("*",))


def test_tool_limits_apply_to_all_agents_unless_one_overrides_them() -> None:
    settings = Settings.model_validate(
        {
            "tools": {"exec": {"timeoutSec": 7}, "loopDetection": {"historySize": 50, "warningThreshold": 4}},
            "agents": {
                "defaults": {"tools": {"loopDetection": {"warningThreshold": 5}}},
                "list": [
                    {"id": "a"},
                    {"id": "b", "tools": {"exec": {"timeoutSec": 9}, "loopDetection": {"enabled": False}}},
                ],
            },
        }
    )

    a, b = resolve_agent(settings, "a").tools, resolve_agent(settings, "b").tools

    assert (a.exec.timeout_sec, b.exec.timeout_sec) == (7, 9)
    assert (a.loop_detection.enabled, b.loop_detection.enabled) == (True, False)
    for tools in (a, b):
        assert (tools.loop_detection.history_size, tools.loop_detection.warning_threshold) == (50, 5)
    assert resolve_agent(Settings(), "main").tools.exec.timeout_sec == 120


@pytest.mark.parametrize(
    ("own", "fallbacks"),
    [({"primary": "p/s"}, ("p/f",)), ({"fallbacks": ["quick", "p/t"]}, ("p/q", "p/t")), ({"fallbacks": []}, ())],
)
def test_a_sub_agents_session_uses_its_own_fallbacks_if_there_are_any(
    own: dict[str, Any], fallbacks: tuple[str, ...]
) -> None:
    settings = with_agents(
        defaults={
            "model": {"primary": "p/m", "fallbacks": ["p/f"]},
            "models": {"p/q": {"alias": "quick"}},
            "subagents": {"model": own},
        }
    )
    child = resolve_agent(settings, "main", session_overrides=Overrides(is_subagent=True))

    assert child.fallbacks == fallbacks
    assert resolve_agent(settings, "main").fallbacks == ("p/f",)


def test_an_agent_can_override_the_default_fallbacks_with_none() -> None:
    settings = with_agents(
        defaults={"model": {"primary": "p/m", "fallbacks": ["p/f"]}},
        list=[{"id": "a", "model": {"fallbacks": []}}],
    )

    assert (resolve_agent(settings, "a").primary, resolve_agent(settings, "a").fallbacks) == ("p/m", ())


def test_the_inheritance_example_of_the_article(load_text: LoadText) -> None:
    text = (FIXTURES / "004-1.4-inheritance.json").read_text()

    agent = resolve_agent(load_text(text, name="c.json").settings, "code-reviewer")

    assert agent.primary == "anthropic/claude-sonnet-4-5"
    assert agent.thinking_default == "low"
    assert agent.tools.profile == "coding"


def test_aliases_become_models() -> None:
    settings = Settings.model_validate(
        {
            "models": {"aliases": {"Fast": "p/fast"}},
            "agents": {
                "defaults": {
                    "model": {"primary": "fast", "fallbacks": ["good"]},
                    "models": {"p/good": {"alias": "good"}},
                }
            },
        }
    )

    assert resolve_agent(settings, "main").primary == "p/fast"
    assert resolve_agent(settings, "main").fallbacks == ("p/good",)
    assert resolve_agent(settings, "main", call=Overrides(model="GOOD")).primary == "p/good"
    assert default_model(settings, {}) == "p/fast"


@pytest.mark.parametrize(
    ("env", "model"),
    [
        ({}, "offline/demo"),
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic/claude-opus-4-6"),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-4o"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "anthropic/claude-opus-4-6"),
    ],
)
def test_without_a_model_the_first_provider_with_a_key_is_used(env: dict[str, str], model: str) -> None:
    assert default_model(Settings(), env) == model
    assert resolve_agent(Settings(), "main", default_model=model).primary == model


BOX = {"baseUrl": "http://box/v1"}
LISTED = {**BOX, "models": [{"id": "qwen3"}, {"id": "other"}]}


@pytest.mark.parametrize(
    ("env", "models", "model"),
    [
        ({"OPENAI_BASE_URL": "http://box/v1"}, {}, "openai/gpt-4o"),
        ({"ANTHROPIC_BASE_URL": "http://box"}, {}, "anthropic/claude-opus-4-6"),
        ({"OPENAI_BASE_URL": "http://box/v1", "ANTHROPIC_API_KEY": "k"}, {}, "anthropic/claude-opus-4-6"),
        ({}, {"providers": {"openai": BOX}}, "openai/gpt-4o"),
        ({}, {"providers": {"openai": LISTED}}, "openai/qwen3"),
        ({"OPENAI_API_KEY": "k"}, {"providers": {"openai": LISTED}}, "openai/qwen3"),
        ({"OPENAI_API_KEY": "k"}, {"providers": {"box": LISTED}}, "openai/gpt-4o"),
        ({"OPENAI_API_KEY": "k"}, {"mode": "replace", "providers": {"openai": {"models": [{"id": "m"}]}}}, "openai/m"),
        ({"OPENAI_API_KEY": "k"}, {"providers": {"openai": {"models": [{"id": "m"}]}}}, "openai/gpt-4o"),
        ({}, {"providers": {"empty": BOX, "box": LISTED}}, "box/qwen3"),
        ({}, {"providers": {"box": {**LISTED, "apiKey": "k"}}}, "box/qwen3"),
        ({}, {"providers": {"empty": BOX}}, "offline/demo"),
        ({}, {"providers": {"openai": {"models": [{"id": "m"}]}}}, "offline/demo"),
    ],
)
def test_without_a_key_the_first_provider_with_a_base_url_is_used(
    env: dict[str, str], models: dict[str, Any], model: str, load_text: LoadText
) -> None:
    assert default_model(load_text(json.dumps({"models": models}), env=env).settings, env) == model
    chosen = json.dumps({"models": models, "agents": {"defaults": {"model": "offline/script"}}})
    assert default_model(load_text(chosen, env=env).settings, env) == "offline/script"


def test_each_agent_has_its_own_workspace(load_text: LoadText, tmp_path: Path) -> None:
    settings = load_text(
        """
        agents:
          list: [{id: one}, {id: two}, {id: home, workspace: ~/here}, {id: near, workspace: ./near}]
        """
    ).settings

    def directory(agent_id: str, configured: Settings = settings) -> Path:
        return workspace_dir(configured, agent_id, STATE)

    assert directory("one") == STATE / "workspace"
    assert directory("two") == STATE / "workspace-two"
    assert directory("home") == tmp_path / "home" / "here"
    assert directory("near") == tmp_path / "home" / ".openclaw-workers" / "near"
    shared = with_agents(defaults={"workspace": "/shared"}, list=[{"id": "one"}, {"id": "two"}])
    assert directory("one", shared) == Path("/shared")
    assert directory("two", shared) == STATE / "workspace-two"
    assert directory("main", Settings()) == STATE / "workspace"


def test_the_cap_of_the_subagent_lane_has_two_names() -> None:
    by_lane = Settings.model_validate({"lanes": {"subagent": {"maxConcurrent": 3}}})
    by_agents = with_agents(defaults={"subagents": {"maxConcurrent": 2}})

    assert [lane_cap(Settings(), lane) for lane in Lane] == [None, None, None, 2]
    assert lane_cap(by_lane, Lane.SUBAGENT) == 3
    assert lane_cap(by_agents, Lane.SUBAGENT) == 2
    assert lane_cap(by_agents, Lane.MAIN) is None
