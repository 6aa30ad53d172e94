"""The tools that the default configuration leaves to a turn."""

from __future__ import annotations

from typing import Any

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.tree import Role
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.policy import ToolPolicy
from openclaw_workers.tools.registry import builtin_tools


def tools_at(depth: int, role: Role, **inputs: Any) -> set[str]:
    policy = ToolPolicy(Settings(), builtin_tools)
    return set(policy.decide(PolicyInputs(agent_id="main", depth=depth, role=role, **inputs)).allowed)
