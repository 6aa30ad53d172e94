"""`ocw sessions tree`: which session was spawned by which."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import find_session, report_left_out
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.trees import session_tree_text
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json


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
    reader = cli.stores.reader
    roots = build_session_trees(reader.each_session(500), wanted)
    if cli.json:
        found = [session_tree_json(root, reader.control, cli.main_key) for root in roots]
        echo_json({"ok": True, "sessions": found, "unreadable": reader.unreadable})
    elif roots:
        click.echo(session_tree_text(roots, reader.control))
    else:
        click.echo('no sessions; `ocw agent -m "hello"` begins one')
    report_left_out(reader.unreadable)
