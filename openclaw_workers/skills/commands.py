"""Slash commands that ask for a skill."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from openclaw_workers.domain.skill_command import MAX_NAME_CHARS, SkillCommand, command_name
from openclaw_workers.skills.skill import Skill

MAX_DESCRIPTION_CHARS = 100


def skill_commands(skills: Iterable[Skill], reserved: Collection[str]) -> tuple[SkillCommand, ...]:
    """A command for each skill that people may ask for. Names of other commands are not taken."""
    taken = set(reserved)
    found = []
    for skill in skills:
        if not skill.user_invocable:
            continue
        name = _free(command_name(skill.name), taken)
        taken.add(name)
        text = skill.description
        if len(text) > MAX_DESCRIPTION_CHARS:
            text = text[: MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"
        found.append(SkillCommand(name=name, skill=skill.name, description=text, tool=skill.command_tool))
    return tuple(found)


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or the same with a number if it is taken."""
    free, count = name, 2
    while free in taken:
        free = f"{name[: MAX_NAME_CHARS - len(str(count)) - 1]}_{count}"
        count += 1
    return free
