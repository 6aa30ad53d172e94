"""`ocw sessions tree`: which session was spawned by which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import find_session, tell_left_out
from openclaw_workers.cli.output import age, echo_json, json_option, table
from openclaw_workers.cli.render.branches import branches, short
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.views.sessions import session_json


@dataclass(slots=True)
class SessionNode:
    """A session and those it spawned."""

    row: SessionEntry
    children: list[SessionNode] = field(default_factory=list)


@click.command(
    "tree",
    epilog="""\b
Examples:
  ocw sessions tree
  ocw sessions tree main --json | jq '.sessions[0].children[].label'
""",
)
@click.argument("key", required=False)
@json_option
@pass_cli
def session_tree(cli: CliContext, key: str | None) -> None:
    """Show sessions below the ones that spawned them."""
    wanted = find_session(cli, key)[0] if key is not None else None
    tops = session_trees(cli.stores.reader.each_session(500), wanted)
    if cli.json:
        told = [_facts(cli, top) for top in tops]
        echo_json({"ok": True, "sessions": told, "unreadable": cli.stores.reader.unreadable})
    elif tops:
        click.echo(_text(cli, tops))
    else:
        click.echo('no sessions; `ocw agent -m "hello"` begins one')
    tell_left_out(cli.stores.reader.unreadable)


def session_trees(rows: Iterable[SessionEntry], wanted: SessionKey | None = None) -> list[SessionNode]:
    """Trees of sessions, oldest first; the one that is wanted, or all."""
    sprigs = {
        row.session_key: SessionNode(row) for row in sorted(rows, key=lambda row: (row.created_at, row.session_key))
    }
    tops: list[SessionNode] = []
    for sprig in sprigs.values():
        above = sprigs.get(sprig.row.spawned_by) if sprig.row.spawned_by else None
        (above.children if above and above is not sprig else tops).append(sprig)
    if wanted is not None:
        return [sprigs[wanted]] if wanted in sprigs else []
    return tops


def _facts(cli: CliContext, sprig: SessionNode) -> dict[str, Any]:
    """docs/cli.md lists the fields."""
    row = sprig.row
    return {
        **session_json(cli, row, cli.stores.reader.control(row.session_key)),
        "label": row.label,
        "spawnedBy": row.spawned_by,
        "spawnDepth": row.spawn_depth,
        "subagentRole": row.subagent_role,
        "subagentControlScope": row.subagent_control_scope,
        "children": [_facts(cli, child) for child in sprig.children],
    }


def _text(cli: CliContext, tops: list[SessionNode]) -> str:
    head = ("SESSION", "STATE", "TURNS", "TOKENS", "UPDATED", "KEY")
    rows = []
    for line, sprig in branches(tops, lambda sprig: sprig.children):
        row = sprig.row
        name = short(row.label) if row.spawned_by and row.label else row.session_key
        key = row.session_key if name != row.session_key else ""
        state = cli.stores.reader.control(row.session_key).state
        rows.append((line + name, state, row.turns, row.total_tokens, age(row.updated_at), key))
    return table(head, rows, right=("TURNS", "TOKENS"))
