"""Where skills are found, which of two wins, and that changes are noticed without reading everything again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.skills import scan
from openclaw_workers.skills.catalog import AgentSkills
from openclaw_workers.skills.names import unknown_names
from openclaw_workers.skills.skill import parse_skill
from tests.component.skills.conftest import SkillHarness, put, text_of


def described(found: AgentSkills) -> dict[str, str]:
    return {skill.name: skill.description for skill in found.skills}


def test_of_two_skills_with_one_name_the_nearer_place_wins(places: SkillHarness) -> None:
    top, agent = places.top, places.state / "agents" / "main"
    low_to_high = [
        top / "extra",
        top / "bundled",
        places.state / "skills",
        places.home / ".agents" / "skills",
        agent / "skills",
        agent / "agent" / "skills",
        places.workspace() / ".agents" / "skills",
        places.workspace() / "skills",
    ]
    places.config = {"load": {"extraDirs": [str(top / "extra")]}}
    catalog = places.catalog()
    for number, folder in enumerate(low_to_high):
        put(folder, "same", f"place {number}")
        put(folder, f"own-{number}")
        assert described(places.find(catalog))["same"] == f"place {number}"

    assert len(places.find(catalog).skills) == 1 + len(low_to_high)


def test_flat_files_and_nested_folders_are_skills_too(places: SkillHarness) -> None:
    skills = places.workspace() / "skills"
    skills.mkdir(parents=True)
    (skills / "git.md").write_text(text_of("git", "flat"))
    (skills / "README.md").write_text("# Our skills\n")
    put(skills / "author", "deep", "by subject")
    put(skills / ".hidden", "unseen")
    put(skills / "node_modules", "unseen-too")
    (skills / "deep-file").mkdir()
    (skills / "deep-file" / "notes.md").write_text("no skill")

    found = places.find()
    assert described(found) == {"git": "flat", "deep": "by subject"}
    assert found.problems == ()
    assert "<location>skills/git.md</location>" in found.prompt


def test_an_extra_directory_may_be_a_repository_with_skills_or_one_skill(places: SkillHarness) -> None:
    put(places.top / "repository" / "skills", "inner")
    put(places.top, "single")
    places.config = {"load": {"extraDirs": [str(places.top / "repository"), str(places.top / "single")]}}
    assert set(described(places.find())) == {"inner", "single"}


def test_a_change_is_seen_by_the_next_turn_and_nothing_else_is_read(
    places: SkillHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    parse = parse_skill

    def counting(text: str, path: str, *rest: object, **more: object) -> object:
        read.append(Path(path).parent.name)
        return parse(text, path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(scan, "parse_skill", counting)
    folder = places.workspace() / "skills"
    first = put(folder, "one")
    put(folder, "two")
    catalog = places.catalog()
    before = places.find(catalog)
    assert places.find(catalog) is before
    assert sorted(read) == ["one", "two"]

    read.clear()
    first.write_text(text_of("one", "changed"))
    changed = places.find(catalog)
    assert described(changed)["one"] == "changed"
    assert changed.version != before.version
    put(folder, "three")
    assert set(described(places.find(catalog))) == {"one", "two", "three"}
    first.unlink()
    assert set(described(places.find(catalog))) == {"two", "three"}
    assert read == ["one", "three"]


def test_skills_are_loaded_once_where_watching_is_off(places: SkillHarness) -> None:
    places.config = {"load": {"watch": False}}
    put(places.workspace() / "skills", "one")
    catalog = places.catalog()
    places.find(catalog)
    put(places.workspace() / "skills", "two")
    assert set(described(places.find(catalog))) == {"one"}


def test_a_directory_is_looked_at_no_more_often_than_set(places: SkillHarness) -> None:
    places.config = {"load": {"watchDebounceMs": 3_600_000}}
    catalog = places.catalog()
    places.find(catalog)
    put(places.workspace() / "skills", "one")
    assert places.find(catalog).skills == ()


def test_the_version_is_the_same_for_everybody_who_sees_the_same(places: SkillHarness) -> None:
    put(places.workspace() / "skills", "one")
    one, other = places.find(places.catalog()), places.find(places.catalog())
    assert one is not other
    assert (one.version, one.snapshot) == (other.version, other.snapshot)


def test_what_is_no_skill_is_reported_and_the_rest_is_used(places: SkillHarness) -> None:
    folder = places.workspace() / "skills"
    put(folder, "good")
    (put(folder, "bad")).write_text("# no frontmatter\n")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")
    found = places.find()
    assert set(described(found)) == {"good"}
    assert [Path(problem.path).parent.name for problem in found.problems] == ["bad", "pipe"]


def test_limits_of_files_and_directories_hold_and_are_said(places: SkillHarness) -> None:
    folder = places.workspace() / "skills"
    for number in range(6):
        put(folder, f"s{number}")
    (folder / "s0" / "SKILL.md").write_text(text_of("s0") + "x" * 2000)
    limits = {"maxSkillFileBytes": 1000, "maxCandidatesPerRoot": 5, "maxSkillsLoadedPerSource": 3}
    places.config = {"limits": limits}
    found = places.find()
    assert set(described(found)) == {"s1", "s2", "s3"}
    why = " ".join(problem.why for problem in found.problems)
    assert all(name in why for name in limits)


def test_links_out_of_a_workspace_are_not_followed_and_others_are(places: SkillHarness) -> None:
    outside = put(places.top / "elsewhere", "linked").parent
    for root in (places.workspace() / "skills", places.home / ".agents" / "skills"):
        root.mkdir(parents=True)
        (root / "linked").symlink_to(outside)
    secret = places.top / "secret.md"
    secret.write_text(text_of("secret"))
    (places.workspace() / "skills" / "secret.md").symlink_to(secret)

    found = places.find()
    assert [skill.path for skill in found.skills] == [str(outside / "SKILL.md")]
    assert found.readable == (str(outside),)
    assert [Path(problem.path).name for problem in found.problems] == ["linked", "secret.md"]


def test_an_agent_has_the_skills_it_names_and_those_of_its_own_places(places: SkillHarness) -> None:
    places.config = {
        "agents": {
            "list": [{"id": "main"}, {"id": "few", "skills": ["shared", "sharde"]}, {"id": "none", "skills": []}]
        },
        "entries": {"shraed": {}},
        "allowBundled": ["bundle"],
    }
    put(places.state / "skills", "shared")
    put(places.state / "skills", "other")
    put(places.workspace("main") / "skills", "private")
    put(places.state / "agents" / "few" / "skills", "of-few")
    catalog = places.catalog()
    found = {agent: places.find(catalog, agent) for agent in ("main", "few", "none")}

    assert {agent: set(described(each)) for agent, each in found.items()} == {
        "main": {"shared", "other", "private"},
        "few": {"shared"},
        "none": set(),
    }
    agents = [(resolve_agent(places.used, agent), each) for agent, each in found.items()]
    assert unknown_names(places.used.skills, agents) == [
        "skills.entries.shraed: there is no skill 'shraed'; did you mean 'shared'?",
        "skills.allowBundled: there is no skill 'bundle'; `ocw skills list` shows them all",
        "skills of agent few: there is no skill 'sharde'; did you mean 'shared'?",
    ]
