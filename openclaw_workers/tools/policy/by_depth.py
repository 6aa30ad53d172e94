"""Tool policy by depth and by authority: which tools a turn has at its place in the tree, for whoever asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tree import Role
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.registry import builtin_tools

DENIED_TO_LEAVES = frozenset(
    {
        "sessions_spawn",
        "sessions_yield",
        "subagents",
        "sessions_list",
        "sessions_history",
        "sessions_search",
        "sessions_send",
    }
)
"""Leaves cannot have sub-agents, so they need no session control."""

SESSION_TOOLS = frozenset({*DENIED_TO_LEAVES, "session_status"})
"""The tools of a turn that no owner asked for."""

DENIED_BELOW_THE_ROOT = frozenset({"gateway"})
DENIED_FROM_DEPTH_TWO = frozenset({"cron", "message"})


def tools_at(
    depth: int, role: Role, authority: Authority = Authority.OWNER, offered: Iterable[Tool[Any]] | None = None
) -> list[Tool[Any]]:
    """The tools at a depth, for a turn that somebody with this authority asked for. Each rule only removes tools.

    `offered`: all tools of the process; unset: the built-in ones.
    """
    denied: frozenset[str] = frozenset()
    if role is Role.LEAF:
        denied |= DENIED_TO_LEAVES
    if depth >= 1:
        denied |= DENIED_BELOW_THE_ROOT
    if depth >= 2:
        denied |= DENIED_FROM_DEPTH_TWO
    allowed = (tool for tool in (builtin_tools() if offered is None else offered) if tool.name not in denied)
    return [tool for tool in allowed if authority.covers(Authority.OWNER) or tool.name in SESSION_TOOLS]
