"""Every setting has a test that shows its effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.agents import AgentDefaults, AgentEntry, AgentProfile, AgentSettings, AgentsSettings
from openclaw_workers.config.base import Section
from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.config.schema_tree import aliases, item_of, section_of
from openclaw_workers.config.settings import Settings
from tests.unit.config.effects import EFFECTS

ROOT = Path(__file__).parents[3]
PLACES = (AgentDefaults, AgentEntry, AgentProfile)


def in_effect(section: type[Section], path: str = "") -> Iterator[str]:
    """Paths of the values below a section."""
    for key, name in aliases(section).items():
        field = section.model_fields[name]
        shared = section in PLACES and name in AgentSettings.model_fields
        place = f"{'agents.*.' if shared else path}{key}"
        if inner := section_of(field.annotation):
            yield from in_effect(inner, f"{place}.")
        elif item := section_of(item_of(field.annotation)[1]):
            yield from in_effect(item, f"{place}.*.")
        else:
            yield place


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_setting_in_effect_names_the_test_that_shows_its_effect() -> None:
    paths = set(in_effect(Settings))

    assert sorted(paths - EFFECTS.keys()) == [], "name the test that fails when they are ignored, in effects.py"
    assert sorted(EFFECTS.keys() - paths) == [], "there are no such settings"


@pytest.mark.parametrize("test", sorted(set(EFFECTS.values())))
def test_the_named_test_exists(test: str) -> None:
    path, _, name = test.partition("::")

    assert name.startswith("test_")
    assert name in functions_of(ROOT / path)


def below(section: type[Section], path: list[str], value: Any) -> Section:
    """An unvalidated section in which only the value at the end of the path is set."""
    name, *rest = path
    inner = section_of(section.model_fields[name].annotation)
    given = below(inner, rest, value) if rest and inner else value
    return section.model_construct({name}, **{name: given})


def fields(path: str) -> list[str]:
    """The names in the code of a path below an agent."""
    section: type[Section] | None = AgentSettings
    names = []
    for key in path.split("."):
        assert section is not None
        names.append(aliases(section)[key])
        section = section_of(section.model_fields[names[-1]].annotation)
    return names


# A cap of the whole fleet is refused in an agent's own settings.
@pytest.mark.parametrize(
    "path",
    [p for p in EFFECTS if p.startswith("agents.*.") and not p.endswith("maxConcurrent") and p.count("*") == 1],
)
def test_an_agent_gets_a_setting_from_any_of_the_three_places(path: str) -> None:
    names, value = fields(path.removeprefix("agents.*.")), "some/value"
    entry = below(AgentEntry, names, value).model_copy(update={"id": "main"})
    given: list[dict[str, Any]] = [
        {"defaults": below(AgentDefaults, names, value)},
        {"list": (entry,)},
        {"profiles": {"main": below(AgentProfile, names, value)}},
    ]
    for place in given:
        agents = AgentsSettings.model_construct(set(place), **place)
        found: Any = resolve_agent(Settings.model_construct({"agents"}, agents=agents), "main")
        for name in names:
            found = getattr(found, name)
        assert found == value, place
