"""How keys may be spelled, where blocks may be written, and how unknown keys are reported."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.config.loader import load
from openclaw_workers.config.normalise import SHORTHAND
from openclaw_workers.config.schema_tree import item_of, section_of
from openclaw_workers.config.settings import Settings
from tests.unit.config.conftest import LoadText, ProblemsIn
from tests.unit.config.test_articles import FIXTURES, LANDS


def snake(key: str) -> str:
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), key)


def kebab(key: str) -> str:
    return snake(key).replace("_", "-")


STYLES: dict[str, Callable[[str], str]] = {"camel": str, "snake": snake, "kebab": kebab}


def respell(tree: Any, annotation: Any, choose: Any) -> Any:
    """Write the setting keys of a tree in other styles; names in maps are data and stay."""
    if (section := section_of(annotation)) and isinstance(tree, dict):
        fields = {field.alias or name: field.annotation for name, field in section.model_fields.items()}
        return {choose(key): respell(value, fields[key], choose) for key, value in tree.items()}
    kind, item = item_of(annotation)
    if kind is dict:
        return {key: respell(value, item, choose) for key, value in tree.items()}
    if kind is tuple and isinstance(tree, list):
        return [respell(value, item, choose) for value in tree]
    return tree


def full_tree() -> dict[str, Any]:
    """Every setting that has a default, as a tree with camelCase keys, and names that look like keys."""
    tree: dict[str, Any] = Settings().model_dump(mode="json", by_alias=True)
    tree["messages"]["queue"]["byChannel"] = {"my-channel_name": "steer"}
    tree["agents"]["list"] = [{"id": "code-reviewer", "thinkingDefault": "low"}, {"id": "a_b"}]
    tree["models"]["providers"] = {"my-own_provider": {"baseUrl": "http://h/v1", "headers": {"x-some_header": "v"}}}
    return tree


@given(st.integers())
@settings(max_examples=30, deadline=None)
def test_any_mixture_of_key_styles_loads_the_same_settings(seed: int) -> None:
    dice = random.Random(seed)

    def choose(key: str) -> str:
        return dice.choice(list(STYLES.values()))(key)

    respelled = respell(full_tree(), Settings, choose)
    with tempfile.TemporaryDirectory() as directory:
        plain, styled = Path(directory, "plain.json"), Path(directory, "styled.json")
        plain.write_text(json.dumps(full_tree()))
        styled.write_text(json.dumps(respelled))

        assert load(styled, env={}).settings == load(plain, env={}).settings


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("source", "target"), SHORTHAND)
def test_a_block_may_be_written_in_either_of_its_two_places(
    source: tuple[str, ...], target: tuple[str, ...], style: str, load_text: LoadText
) -> None:
    value: Any = {
        "thinkingDefault": "low",
        "contextTokens": 1000,
        "maxConcurrent": 3,
        "direct": {"mode": "none"},
        "providers": {"x": {"baseUrl": "http://h/v1"}},
        "compaction": {"mode": "default"},
        "contextPruning": {"mode": "off"},
        "sandbox": {"mode": "all"},
    }.get(source[-1], {"deny": ["x"]} if source[-1] == "tools" else {"enabled": False})
    if source[-1] in ("subagents", "heartbeat"):
        value = {"model": "offline/demo"}

    def nest(path: tuple[str, ...]) -> str:
        tree: Any = value
        for key in reversed(path):
            tree = {STYLES[style](key): tree}
        return json.dumps(tree)

    assert load_text(nest(source)).settings == load_text(nest(target)).settings != Settings()


def test_a_block_written_in_both_places_is_rejected(problems_in: ProblemsIn) -> None:
    problems = problems_in("agents: {defaults: {compaction: {mode: default}}}\ncompaction: {mode: safeguard}")

    assert problems == [
        "compaction: also given as agents.defaults.compaction, which is the same setting; keep one of them"
    ]


def test_sandbox_and_its_tools_may_be_written_in_separate_blocks(load_text: LoadText) -> None:
    settings = load_text("sandbox: {tools: {deny: [exec]}}\nagents: {defaults: {sandbox: {mode: all}}}").settings

    assert settings.tools.sandbox.tools.deny == ("exec",)
    assert settings.agents.defaults.sandbox.mode == "all"


def test_one_key_in_two_spellings_is_rejected(problems_in: ProblemsIn) -> None:
    problems = problems_in("engine: {maxSteps: 1, max-steps: 2}")

    assert problems == ["engine.max-steps: already given as maxSteps; keep one of them"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mesages: {}", "mesages: unknown key; did you mean 'messages'?"),
        ("compction: {}", "compction: unknown key; did you mean 'compaction'?"),
        ("session: {dmscope: main}", "session.dmscope: unknown key; did you mean 'dmScope'?"),
        (
            "agents: {list: [{id: a}, {id: b, max_spawn_dept: 1}]}",
            "agents.list[1].max_spawn_dept: unknown key; expected one of ",
        ),
        (
            "subagents: {max_spawn_dept: 1}",
            "subagents.max_spawn_dept: unknown key; did you mean 'maxSpawnDepth'?",
        ),
        ("redis: {zzz: 1}", "redis.zzz: unknown key; expected one of url"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_valid_one(text: str, problem: str, problems_in: ProblemsIn) -> None:
    [only] = problems_in(text)

    assert only.startswith(problem)


@pytest.mark.parametrize("text", ["tts: {}", "messages: {tts: {}}", "channels: {voice: {}}", "voiceCall: 1"])
def test_voice_settings_are_rejected_with_the_reason(text: str, problems_in: ProblemsIn) -> None:
    [only] = problems_in(text)

    assert "voice and tts are not supported" in only


def test_names_in_maps_keep_their_spelling(load_text: LoadText) -> None:
    settings = load_text(
        """
        session: {identityLinks: {max-mustermann_x: [telegram:1, 2]}, resetByChannel: {my-chat: {mode: none}}}
        models:
          aliases: {my-model_x: offline/demo}
          providers: {my-proxy_1: {baseUrl: "http://h/v1", headers: {x-api_version: "1"}}}
        """
    ).settings

    assert settings.session.identity_links == {"max-mustermann_x": ("telegram:1", "2")}
    assert list(settings.session.reset_by_channel) == ["my-chat"]
    assert list(settings.models.aliases) == ["my-model_x"]
    assert list(settings.models.providers["my-proxy_1"].headers) == ["x-api_version"]


def test_groups_may_be_a_map_too(load_text: LoadText) -> None:
    as_list = load_text("telegram: {groups: [{chatId: -100, tools: {deny: [exec]}}]}").settings
    as_map = load_text("channels: {telegram: {groups: {-100: {tools: {deny: [exec]}}}}}").settings

    assert as_list == as_map
    assert as_map.channels.telegram.groups["-100"].tools.deny == ("exec",)


def test_a_key_without_a_value_keeps_the_default(load_text: LoadText) -> None:
    assert load_text("agents:\nsession:\n  reset:\ncompaction:\n").settings == Settings()


@pytest.mark.parametrize("name", LANDS)
def test_a_block_of_the_articles_loads_with_snake_case_keys_too(name: str, tmp_path: Path) -> None:
    plain = load(FIXTURES / name, env={"HOME": "/home/somebody"})
    text = (FIXTURES / name).read_text()
    keys = re.compile(r'(?m)(^\s*"?|[{,]\s*"?)([a-z]+[A-Z]\w*)("?\s*:)')
    respelled = keys.sub(lambda found: found[1] + snake(found[2]) + found[3], text)
    (tmp_path / name).write_text(respelled)

    assert load(tmp_path / name, env={"HOME": "/home/somebody"}).settings == plain.settings
