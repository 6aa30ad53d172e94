"""Skills in requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from ingress.api.models.answers import Done, Json, Shape
from ingress.api.models.inputs import Name
from ingress.api.table import Input

SkillName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class SkillQuery(Input):
    agent_id: Name | None = None
    """Default: the default agent; a check looks at every agent."""


class SkillsQuery(SkillQuery):
    all: bool = False
    """Also those that are not offered, with the reason."""


class NewSkillInput(Input):
    name: SkillName
    description: Annotated[str, StringConstraints(max_length=1024)] = "What it does, and when to use it."
    agent_id: Name | None = None
    shared: bool = False
    """For all agents; else in the workspace of the agent."""


class SkillPackageInput(Input):
    data: str
    """A zip file in base64."""
    agent_id: Name | None = None
    """Only for this agent, in its workspace; else for all."""
    replace: bool = False
    """Replace skills of the same names."""


class Skill(Shape):
    name: str
    description: str
    emoji: str
    source: str
    path: str
    location: str
    offered: bool
    reason: str
    in_prompt: bool
    command: str
    requires: Json


class SkillsAnswer(Done):
    agent_id: str
    judged_by: str | None
    """The worker that judged; null if none runs, and the machine of the ingress did."""
    skills: list[Skill]
    warnings: list[str]


class SkillAnswer(Skill):
    ok: bool
    agent_id: str
    judged_by: str | None
    text: str


class SkillCheckAnswer(Done):
    judged_by: str | None
    problems: list[Json]
    warnings: list[str]


class NewSkillAnswer(Done):
    name: str
    path: str


class SkillsAddedAnswer(Done):
    skills: list[Json]
