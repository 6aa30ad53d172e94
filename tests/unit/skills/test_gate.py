"""Which skills a host can use, in which order that is judged, and what their commands are given."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.config.settings import Settings
from openclaw_workers.skills.eligibility import SkillHost
from openclaw_workers.skills.skill import Requires, Skill, Source

PROGRAMS = {"git": "/usr/bin/git"}


def host(config: dict[str, Any] | None = None, *, platform: str = "linux", **environment: str) -> SkillHost:
    settings = Settings.model_validate({"skills": config or {}})
    return SkillHost(settings, environment=environment, platform=platform, find_program=PROGRAMS.get)


def skill(source: Source = Source.STATE, **more: Any) -> Skill:
    requires = {name: more.pop(name) for name in list(more) if name in Requires.__dataclass_fields__}
    return Skill(
        name="s", description="d", path="/s/SKILL.md", source=source, key="s", requires=Requires(**requires), **more
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (skill(), ""),
        (skill(bins=("git",)), ""),
        (skill(bins=("git", "nope")), "needs the program nope"),
        (skill(any_bins=("nope", "git")), ""),
        (skill(any_bins=("nope", "neither")), "needs one of the programs nope, neither"),
        (skill(os=("darwin",)), "for darwin; this is linux"),
        (skill(os=("macos", "Linux")), ""),
        (skill(os=("darwin",), always=True), "for darwin; this is linux"),
        (skill(bins=("nope",), always=True), ""),
        (skill(env=("TOKEN",)), "needs the environment variable TOKEN; set it in skills.entries.s.env"),
        (skill(config=("tools.web.search.enabled",)), ""),
        (skill(config=("tools.web.search.apiKey",)), "needs the setting tools.web.search.apiKey"),
        (skill(config=("no.such.setting",)), "needs the setting no.such.setting"),
        (skill(any_config=("tools.web.search.apiKey", "tools.web.fetch.enabled")), ""),
        (skill(any_config=("tools.web.search.apiKey",)), "needs one of the settings tools.web.search.apiKey"),
    ],
)
def test_a_skill_is_judged_by_what_it_requires(given: Skill, why: str) -> None:
    assert host().refusal(given) == why


def test_a_skill_can_be_switched_off_whatever_it_says() -> None:
    off = host({"entries": {"s": {"enabled": False}}})
    assert off.refusal(skill(always=True)) == "switched off by skills.entries.s.enabled"


def test_bundled_skills_can_be_limited_to_a_list() -> None:
    limited = host({"allowBundled": ["other"]})
    assert limited.refusal(skill(Source.BUNDLED, always=True)) == "not in skills.allowBundled"
    assert limited.refusal(skill(Source.STATE)) == ""
    assert host({"allowBundled": ["s"]}).refusal(skill(Source.BUNDLED)) == ""


def test_a_skill_may_require_values_of_its_own_block() -> None:
    wanted = skill(config=("skills.entries.s.config.region",))
    assert host().refusal(wanted) == "needs the setting skills.entries.s.config.region"
    assert host({"entries": {"s": {"config": {"region": "north"}}}}).refusal(wanted) == ""


def test_variables_come_from_the_configuration() -> None:
    given = skill(env=("TOKEN", "REGION"), primary_env="TOKEN")
    configured = host({"entries": {"s": {"apiKey": "secret", "env": {"REGION": "north", "MORE": "1"}}}})

    assert configured.refusal(given) == ""
    assert configured.run_environment(given) == {"TOKEN": "secret", "REGION": "north", "MORE": "1"}


def test_variables_of_the_worker_win_and_only_those_a_skill_names_are_given() -> None:
    given = skill(env=("TOKEN",))
    configured = host({"entries": {"s": {"env": {"TOKEN": "configured"}}}}, TOKEN="own", OTHER="hidden")
    assert configured.run_environment(given) == {"TOKEN": "own"}


def test_a_skill_of_a_workspace_cannot_ask_for_variables_of_the_worker() -> None:
    """An agent can write such a skill, and would read any secret of its worker."""
    given = skill(Source.WORKSPACE, env=("CLOUD_KEY",))
    own = host(CLOUD_KEY="secret")

    assert own.run_environment(given) == {}
    assert own.refusal(given) == "is not given the worker's own CLOUD_KEY; set it in skills.entries.s.env"
    allowed = host({"entries": {"s": {"env": {"CLOUD_KEY": "for it"}}}}, CLOUD_KEY="secret")
    assert allowed.run_environment(given) == {"CLOUD_KEY": "for it"}


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "REDIS_URL", "OPENCLAW_TOKEN"])
def test_keys_of_the_installation_are_given_to_no_skill(name: str) -> None:
    environment: dict[str, Any] = {name: "secret"}
    assert host(**environment).run_environment(skill(Source.STATE, env=(name,), primary_env=name)) == {}
