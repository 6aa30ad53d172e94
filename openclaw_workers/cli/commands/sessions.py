"""`ocw sessions`: list, read, export, label, reset and delete sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.export import export_sessions
from openclaw_workers.cli.output import COUNT, echo_json, json_option, report_left_out
from openclaw_workers.cli.render.sessions import session_lines, session_table
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.cli.render.trees import session_tree_text
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.engine.routing.session_labels import check_label
from openclaw_workers.errors import BadInput
from openclaw_workers.queries.session_answers import check_agent, recent_sessions, session_details, sessions_answer
from openclaw_workers.queries.sessions import check_label_is_free, find_key, find_session
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json

DAY_MS = 86_400_000
NO_SESSIONS = 'no sessions; `ocw agent -m "hello"` creates one'


@click.group(
    epilog="""\b
Examples:
  ocw sessions list
  ocw sessions tree
  ocw sessions history main --limit 5
  ocw sessions export --out backup
KEY is a whole key (agent:main:main) or a short one of the default agent (main, notes).
"""
)
def sessions() -> None:
    """List, read, export, label, reset and delete sessions."""


@sessions.command("list", epilog="Example: ocw sessions list --agent work --limit 5")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, last used first.")
@click.option("--agent", "agent_id", metavar="ID", help="Only sessions of this agent.")
@json_option
@pass_cli
def list_sessions(cli: CliContext, limit: int, agent_id: str | None) -> None:
    """List sessions, last used first."""
    reader = cli.stores.reader
    found = recent_sessions(cli, limit, agent_id)
    if cli.json:
        echo_json(sessions_answer(cli, found))
    elif found:
        click.echo(session_table(found, cli.main_key))
    else:
        click.echo(NO_SESSIONS)
    report_left_out(reader.unreadable)


@sessions.command(
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
    """Show sessions below the sessions that spawned them."""
    wanted = find_session(cli, key)[0] if key is not None else None
    reader = cli.stores.reader
    roots = build_session_trees(reader.each_session(500), wanted)
    if cli.json:
        found = [session_tree_json(root, reader.control, cli.main_key) for root in roots]
        echo_json({"ok": True, "sessions": found, "unreadable": reader.unreadable})
    elif roots:
        click.echo(session_tree_text(roots, reader.control))
    else:
        click.echo(NO_SESSIONS)
    report_left_out(reader.unreadable)


@sessions.command("show", epilog="Example: ocw sessions show main")
@click.argument("key")
@json_option
@pass_cli
def show_session(cli: CliContext, key: str) -> None:
    """Show one session, without its transcript."""
    found = session_details(cli, key)
    if cli.json:
        echo_json({"ok": True, **found.as_json(cli.main_key)})
        return
    lines = session_lines(
        found.row,
        found.control,
        cli.main_key,
        receipts=found.receipts,
        spent=found.spent,
        thinking_default=found.thinking_default,
    )
    click.echo(field_list(lines))
    for note in found.damaged:
        click.echo(printable(f"quarantined: {note['where']}: {note['why']}"))


@sessions.command("history", epilog="Example: ocw sessions history main --limit 20 --json | jq '.[].role'")
@click.argument("key")
@click.option("--limit", type=COUNT, help="Only the newest entries; all otherwise.")
@json_option
@pass_cli
def show_history(cli: CliContext, key: str, limit: int | None) -> None:
    """Print a session's transcript, oldest entry first."""
    session, _ = find_session(cli, key)
    raws, unreadable = cli.stores.reader.raw_transcript(session, -limit if limit else 0)
    if cli.json:
        echo_json([json.loads(raw) for raw in raws])
    else:
        for raw in raws:
            click.echo("\n".join(entry_lines(load_entry(raw))))
    _report_unreadable(unreadable)


@sessions.command(
    "export",
    epilog="""\b
Examples:
  ocw sessions export --out backup
  ocw sessions export --session main --out .
Writes agents/<id>/sessions/sessions.json and one <sessionId>.jsonl per session below DIR.
Adds to what earlier exports wrote there, and refuses to replace any other file.
""",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Directory to write to.",
)
@click.option("--agent", "agent_id", metavar="ID", help="Only sessions of this agent.")
@click.option("--session", metavar="KEY", help="Only this session.")
@json_option
@pass_cli
def export(cli: CliContext, out: Path, agent_id: str | None, session: str | None) -> None:
    """Write sessions as JSONL files in OpenClaw's layout."""
    found = cli.stores.reader.each_session() if session is None else [find_session(cli, session)[1]]
    rows = [row for row in found if agent_id is None or row.agent_id == agent_id.lower()]
    if agent_id is not None and not rows:
        check_agent(cli, agent_id)
    left_out = cli.stores.reader.unreadable
    exported = export_sessions(cli.stores.reader, cli.loaded, rows, out)
    if cli.json:
        files = [str(path) for path in exported.files]
        echo_json({"ok": True, "sessions": len(rows), "files": files, "unreadable": left_out + exported.unreadable})
    else:
        for path in exported.files:
            click.echo(path)
        click.echo(f"{len(rows)} session(s) written", err=True)
    report_left_out(left_out)
    _report_unreadable(exported.unreadable)


@sessions.command(
    "label",
    epilog="""\b
Examples:
  ocw sessions label notes "release notes"
  ocw sessions label notes --remove
""",
)
@click.argument("key")
@click.argument("label", required=False)
@click.option("--remove", is_flag=True, help="Remove the label.")
@json_option
@pass_cli
def label_session(cli: CliContext, key: str, label: str | None, remove: bool) -> None:
    """Give a session a label, by which other sessions find it with sessions_send."""
    if remove == (label is not None):
        raise BadInput("expected a label, or --remove", hint="`ocw sessions label --help` has examples")
    session, _ = find_session(cli, key)
    wanted = check_label(label) if label is not None else ""
    check_label_is_free(cli, session, wanted)
    cli.stores.sessions.patch(session, {"label": wanted})
    if cli.json:
        echo_json({"ok": True, "sessionKey": session, "label": wanted or None})
    else:
        click.echo(f"{session} is labelled {wanted!r}" if wanted else f"{session} has no label")


@sessions.command("reset", epilog="Example: ocw sessions reset notes")
@click.argument("key")
@json_option
@pass_cli
def reset_session(cli: CliContext, key: str) -> None:
    """Reset a session now: stop its run, and start an empty transcript. The old one is kept on disk."""
    session = find_key(cli, key)
    old = cli.stores.reader.session(session)
    cli.control.reset(session)
    new = cli.stores.reader.session(session)
    new_id = new.session_id if new else None
    if cli.json:
        echo_json(
            {
                "ok": True,
                "sessionKey": session,
                "sessionId": new_id,
                "previousSessionId": old and old.session_id,
            }
        )
    else:
        click.echo(f"{session} was reset; its new id is {new_id}")


@sessions.command("delete", epilog="Example: ocw sessions delete notes --yes")
@click.argument("key")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_cli
def delete_session(cli: CliContext, key: str, yes: bool) -> None:
    """Delete a session, after writing its transcript to the state directory."""
    session = find_key(cli, key)
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise BadInput(f"deleting {session} needs a confirmation", hint="add --yes")
        if not click.confirm(f"Delete {session} and everything in it?"):
            click.echo("nothing was deleted")
            return
    cli.control.delete(session)
    if cli.json:
        echo_json({"ok": True, "sessionKey": session})
    else:
        click.echo(f"{session} is deleted")


def _report_unreadable(count: int) -> None:
    if count:
        entries = f"{count} damaged entr{'y was' if count == 1 else 'ies were'}"
        click.echo(f"{entries} left out and quarantined; `ocw status --damaged` lists them", err=True)
