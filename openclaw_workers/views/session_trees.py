"""Sessions as trees: which session spawned which."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.domain.events import SessionState
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.views.sessions import session_json


@dataclass(slots=True)
class SessionNode:
    """A session with the sessions it spawned."""

    row: SessionEntry
    children: list[SessionNode] = field(default_factory=list)


def build_session_trees(rows: Iterable[SessionEntry], wanted: SessionKey | None = None) -> list[SessionNode]:
    """Trees of sessions, oldest first. With `wanted`, only the tree below that session."""
    ordered = sorted(rows, key=lambda row: (row.created_at, row.session_key))
    nodes = {row.session_key: SessionNode(row) for row in ordered}
    roots: list[SessionNode] = []
    for node in nodes.values():
        parent = nodes.get(node.row.spawned_by) if node.row.spawned_by else None
        (parent.children if parent and parent is not node else roots).append(node)
    if wanted is not None:
        return [nodes[wanted]] if wanted in nodes else []
    return roots


def session_tree_json(
    node: SessionNode, control_of: Callable[[SessionKey], SessionState], main_key: str
) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    row = node.row
    return {
        **session_json(row, control_of(row.session_key), main_key),
        "spawnedBy": row.spawned_by,
        "spawnDepth": row.spawn_depth,
        "subagentRole": row.subagent_role,
        "subagentControlScope": row.subagent_control_scope,
        "children": [session_tree_json(child, control_of, main_key) for child in node.children],
    }
