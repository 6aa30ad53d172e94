"""The skills that come with the package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from openclaw_workers.skills.roots import BUNDLED
from openclaw_workers.skills.skill import Requires, Source, parse_skill

NAMES = (
    "arxiv",
    "code-review",
    "coding-agent",
    "git",
    "gitlab",
    "kind",
    "reporter",
    "skill-writer",
    "weather",
    "web-search",
)
WITHOUT_NEEDS = {"reporter", "skill-writer"}


def test_they_are_all_there_and_in_the_wheel() -> None:
    assert tuple(sorted(path.name for path in BUNDLED.iterdir())) == NAMES
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert "skills/bundled/**/*" in project["tool"]["setuptools"]["package-data"]["openclaw_workers"]


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_for_and_what_it_needs(name: str) -> None:
    path = BUNDLED / name / "SKILL.md"
    text = path.read_text()
    skill = parse_skill(text, str(path), Source.BUNDLED)

    assert skill.name == name
    assert skill.emoji
    assert "Use it" in skill.description
    assert yaml.safe_load(text.split("---")[1])["name"] == name, "other programs read it as YAML"
    assert (skill.requires == Requires()) == (name in WITHOUT_NEEDS)
    assert len(text) < 6000
