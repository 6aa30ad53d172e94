"""The list of skills in the system prompt, and the paths in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from openclaw_workers.config.skills import SkillLimitsSettings
from openclaw_workers.skills.skill import Skill

_OPEN, _CLOSE = "<available_skills>", "</available_skills>"
_LEFT_OUT = "<!-- {count} more skills are not listed, for want of room -->"


def skill_list(skills: Sequence[Skill], limits: SkillLimitsSettings, workspace: Path, home: Path) -> str:
    """As many skills as the limits allow, in their order; empty if there is none."""
    listed = [skill for skill in skills if skill.is_listed]
    items: list[str] = []
    # Twelve for line breaks and the digits of the count.
    room = limits.max_skills_prompt_chars - len(_OPEN) - len(_CLOSE) - len(_LEFT_OUT) - 12
    for skill in listed[: limits.max_skills_in_prompt]:
        item = _item(skill, workspace, home)
        room -= len(item) + 1
        if room < 0:
            break
        items.append(item)
    if not items:
        return ""
    note = [_LEFT_OUT.format(count=len(listed) - len(items))] if len(items) < len(listed) else []
    return "\n".join([_OPEN, *items, *note, _CLOSE])


def location(skill: Skill, workspace: Path, home: Path) -> str:
    """The path of its file for the read tool: relative to the workspace if it is there, below ~ if it is there."""
    for root, start in ((os.path.realpath(workspace), ""), (os.path.realpath(home), "~/")):
        inside = root.rstrip("/") + "/"
        if skill.path.startswith(inside):
            return start + skill.path[len(inside) :]
    return skill.path


def _item(skill: Skill, workspace: Path, home: Path) -> str:
    fields = {
        "name": skill.name,
        "emoji": skill.emoji,
        "description": skill.description,
        "location": location(skill, workspace, home),
    }
    # Others write these texts; unescaped, one could close the list and continue as the system prompt.
    lines = [f"  <{name}>{escape(value)}</{name}>" for name, value in fields.items() if value]
    return "\n".join(["<skill>", *lines, "</skill>"])
