"""`ocw sessions`: list, read, export, reset and delete sessions."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.export import export_sessions
from openclaw_workers.cli.find.sessions import find_key, find_session
from openclaw_workers.cli.memory_results import show_results
from openclaw_workers.cli.output import COUNT, echo_json, json_option, report_left_out
from openclaw_workers.cli.render.sessions import session_details, session_table
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.cli.render.trees import session_tree_text
from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import resolve_agent, resolve_agent_id
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.store.llm.ledger import Ledger, Total
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json
from openclaw_workers.views.sessions import session_cost, session_details_json, session_json

DAY_MS = 86_400_000
NO_SESSIONS = 'no sessions; `ocw agent -m "hello"` creates one'


@click.group(
    epilog="""\b
Examples:
  ocw sessions list
  ocw sessions tree
  ocw sessions history main --limit 5
  ocw sessions search "the budget of the trip"
  ocw sessions export --out backup
KEY is a whole key (agent:main:main) or a short one of the default agent (main, notes).
"""
)
def sessions() -> None:
    """List, read, search, export, reset and delete sessions."""


@sessions.command("list", epilog="Example: ocw sessions list --agent work --limit 5")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, last used first.")
@click.option("--agent", "agent_id", metavar="ID", help="Only sessions of this agent.")
@json_option
@pass_cli
def list_sessions(cli: CliContext, limit: int, agent_id: str | None) -> None:
    """List sessions, last used first."""
    reader = cli.stores.reader
    wanted = (row for row in reader.each_session() if agent_id is None or row.agent_id == agent_id.lower())
    found = [(row, reader.control(row.session_key)) for row in islice(wanted, limit)]
    _check_agent(cli, agent_id, found)
    if cli.json:
        listed = [session_json(row, control, cli.main_key) for row, control in found]
        echo_json({"ok": True, "sessions": listed, "unreadable": reader.unreadable})
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


@sessions.command("search", epilog="Example: ocw sessions search 'the budget of the trip' --limit 3")
@click.argument("query")
@click.option("--agent", "agent_id", metavar="ID", help="Conversations of this agent; else of the default one.")
@click.option("--limit", type=COUNT, default=10, show_default=True, help="How many, best first.")
@json_option
@pass_cli
def search_sessions(cli: CliContext, query: str, agent_id: str | None, limit: int) -> None:
    """Search past conversations that are indexed, live and archived."""
    agent = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    everything = Visibility(agent, (), sees_all=True)
    found = cli.memory.search(query, everything, {"maxResults": min(limit, 100), "sources": ["sessions"]})
    show_results(cli, agent, found)


@sessions.command("show", epilog="Example: ocw sessions show main")
@click.argument("key")
@json_option
@pass_cli
def show_session(cli: CliContext, key: str) -> None:
    """Show one session, without its transcript."""
    session, row = find_session(cli, key)
    control = cli.stores.reader.control(session)
    damaged = [note for note in cli.stores.reader.quarantined() if session in note["where"].split()]
    receipts = cli.overview.receipts(session)
    spent = _cost(cli, row)
    thinking = _thinking_default(cli, row.agent_id)
    if cli.json:
        details = session_details_json(
            row,
            control,
            cli.main_key,
            receipts=receipts,
            damaged=damaged,
            spent=spent,
            thinking_default=thinking,
        )
        echo_json({"ok": True, **details})
        return
    lines = session_details(row, control, cli.main_key, receipts=receipts, spent=spent, thinking_default=thinking)
    click.echo(field_list(lines))
    for note in damaged:
        click.echo(printable(f"quarantined: {note['where']}: {note['why']}"))


def _cost(cli: CliContext, row: SessionEntry) -> Total:
    """Read the days of the ledger since the session was created or last reset."""
    days = 2 + (now_ms() - row.session_started_at) // DAY_MS
    return session_cost(row, Ledger(cli.stores.redis, cli.stores.keys).calls(days))


def _thinking_default(cli: CliContext, agent_id: str) -> str | None:
    try:
        return resolve_agent(cli.loaded.settings, agent_id).thinking_default
    except NotFound:
        return None  # the agent is no longer configured


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
    _check_agent(cli, agent_id, rows)
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


def _check_agent(cli: CliContext, agent_id: str | None, found: Sequence[object]) -> None:
    """Refuse an unknown agent. One with sessions may have been removed from the configuration, so it passes."""
    if agent_id is not None and not found:
        resolve_agent_id(cli.loaded.settings, explicit=agent_id)


def _report_unreadable(count: int) -> None:
    if count:
        entries = f"{count} damaged entr{'y was' if count == 1 else 'ies were'}"
        click.echo(f"{entries} left out and quarantined; `ocw status --damaged` lists them", err=True)
