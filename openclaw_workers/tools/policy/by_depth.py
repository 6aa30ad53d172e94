"""Which tools a session has by its place in the tree."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.tree import Role
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.registry import builtin_tools

SESSION_CONTROL = frozenset(
    {"sessions_spawn", "sessions_yield", "subagents", "sessions_list", "sessions_history", "sessions_send"}
)
"""Denied to leaves, which have nobody to control."""

BELOW_THE_ROOT = frozenset({"gateway"})
DEEP_DOWN = frozenset({"cron", "message"})


def tools_at(depth: int, role: Role) -> list[Tool[Any]]:
    """Every layer only removes."""
    denied: frozenset[str] = frozenset()
    if role is Role.LEAF:
        denied |= SESSION_CONTROL
    if depth >= 1:
        denied |= BELOW_THE_ROOT
    if depth >= 2:
        denied |= DEEP_DOWN
    return [tool for tool in builtin_tools() if tool.name not in denied]
