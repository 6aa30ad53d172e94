"""A policy over named tools, without their code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openclaw_workers.config.settings import Settings
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.names import GROUPS
from openclaw_workers.tools.policy.pipeline import Decision
from openclaw_workers.tools.policy.policy import ToolPolicy

EVERY_TOOL = tuple(dict.fromkeys(name for names in GROUPS.values() for name in names))
Decide = Callable[..., Decision]


def tool(name: str, *groups: str, owner_only: bool = False) -> Tool[ToolInput]:
    class Named(Tool[ToolInput]):
        effect = Effect.NONE
        input_type = ToolInput

        def run(self, args: ToolInput, ctx: ToolContext) -> str:
            return ""

    made = Named()
    made.name, made.groups, made.owner_only = name, groups, owner_only
    return made


@pytest.fixture
def decide() -> Decide:
    """What a turn has under these settings; tools are all built-in ones unless others are given."""

    def decide(settings: dict[str, Any], *, tools: tuple[Any, ...] = EVERY_TOOL, **inputs: Any) -> Decision:
        made = [tool(each) if isinstance(each, str) else each for each in tools]
        policy = ToolPolicy(Settings.model_validate(settings), lambda: made)
        return policy.decide(PolicyInputs(**{"agent_id": "main", **inputs}))

    return decide
