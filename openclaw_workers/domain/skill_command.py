"""A slash command that asks for a skill, as workers tell of it to those who accept messages."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

MAX_NAME_CHARS = 32


class SkillCommand(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    name: str
    """Without the slash."""
    skill: str
    description: str
    tool: str = ""
    """The tool that is called without the model; empty: the model is asked to use the skill."""


def command_name(text: str) -> str:
    """A name as commands have it: a-z, 0-9 and _, beginning with a letter."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (name if name[:1].isalpha() else f"skill_{name}")[:MAX_NAME_CHARS].rstrip("_")
