"""The list of skills in the prompt, its limits, and the slash commands."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from openclaw_workers.config.skills import SkillLimitsSettings
from openclaw_workers.skills.commands import skill_commands
from openclaw_workers.skills.listing import skill_list
from openclaw_workers.skills.skill import Skill, Source

WORKSPACE, HOME = Path("/srv/workspace"), Path("/home/ada")
NO_LIMITS = SkillLimitsSettings()


def skill(name: str, path: str = "/opt/skills/{}/SKILL.md", description: str = "d", **more: bool | str) -> Skill:
    return Skill(name=name, description=description, path=path.format(name), source=Source.STATE, **more)  # type: ignore[arg-type]


def listed(*skills: Skill, limits: SkillLimitsSettings = NO_LIMITS) -> str:
    return skill_list(skills, limits, WORKSPACE, HOME)


def test_the_list_is_xml_with_places_that_the_read_tool_opens() -> None:
    text = listed(
        skill("git", "/srv/workspace/skills/{}.md", "Commit & <merge>", emoji="🔀"),
        skill("notes", "/home/ada/.agents/skills/{}/SKILL.md"),
        skill("far"),
    )

    assert text.startswith(
        "<available_skills>\n<skill>\n  <name>git</name>\n  <emoji>🔀</emoji>\n"
        "  <description>Commit &amp; &lt;merge&gt;</description>\n  <location>skills/git.md</location>\n</skill>\n"
    )
    places = [node.text for node in ElementTree.fromstring(text).iter("location")]
    assert places == ["skills/git.md", "~/.agents/skills/notes/SKILL.md", "/opt/skills/far/SKILL.md"]


def test_what_people_alone_may_ask_for_is_not_listed() -> None:
    assert listed(skill("hidden", is_listed=False)) == ""
    assert listed() == ""


def test_no_more_skills_are_listed_than_set() -> None:
    names = [skill(f"s{n}") for n in range(5)]
    text = listed(*names, limits=SkillLimitsSettings(max_skills_in_prompt=2))
    assert text.count("<skill>") == 2
    assert "3 more skills are not listed" in text


def test_the_list_is_no_longer_than_set() -> None:
    names = [skill(f"s{n}", description="x" * 100) for n in range(50)]
    text = listed(*names, limits=SkillLimitsSettings(max_skills_prompt_chars=1000))
    assert 0 < text.count("<skill>") < 10
    assert len(text) <= 1000
    assert "more skills are not listed" in text
    ElementTree.fromstring(text)


def test_commands_have_plain_names_that_nobody_else_has() -> None:
    skills = [
        skill("Code Review!"),
        skill("code-review"),
        skill("help"),
        skill("7zip"),
        skill("x" * 40),
        skill("secret", user_invocable=False),
    ]
    names = [command.name for command in skill_commands(skills, {"help"})]
    assert names == ["code_review", "code_review_2", "help_2", "skill_7zip", "x" * 32]


def test_descriptions_of_commands_are_short() -> None:
    (command,) = skill_commands([skill("a", description="word " * 50)], ())
    assert len(command.description) <= 100
    assert command.description.endswith("…")
