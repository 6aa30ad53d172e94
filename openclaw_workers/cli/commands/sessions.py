"""`ocw sessions`: list, read, export, label, reset, delete and clean up sessions."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.export import export_sessions
from openclaw_workers.cli.memory_results import show_results
from openclaw_workers.cli.named_ids import session_named
from openclaw_workers.cli.output import COUNT, echo_json, json_option, report_left_out
from openclaw_workers.cli.render.sessions import cleanup_table, session_lines, session_table
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines, entry_of
from openclaw_workers.cli.render.trees import session_tree_text
from openclaw_workers.errors import BadInput

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
    """List, read, search, export, label, reset, delete and clean up sessions."""


@sessions.command("list", epilog="Example: ocw sessions list --agent work --limit 5")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, last used first.")
@click.option("--agent", "agent_id", metavar="ID", help="Only sessions of this agent.")
@json_option
@pass_cli
def list_sessions(cli: CliContext, limit: int, agent_id: str | None) -> None:
    """List sessions, last used first."""
    answer = cli.backend.sessions(limit, agent_id)
    if cli.json:
        echo_json(answer)
    elif answer["sessions"]:
        click.echo(session_table(answer["sessions"]))
    else:
        click.echo(NO_SESSIONS)
    report_left_out(answer["unreadable"])


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
    answer = cli.backend.session_trees(key and session_named(cli, key))
    if cli.json:
        echo_json(answer)
    elif answer["sessions"]:
        click.echo(session_tree_text(answer["sessions"]))
    else:
        click.echo(NO_SESSIONS)
    report_left_out(answer["unreadable"])


@sessions.command("search", epilog="Example: ocw sessions search 'the budget of the trip' --limit 3")
@click.argument("query")
@click.option("--agent", "agent_id", metavar="ID", help="Conversations of this agent; else of the default one.")
@click.option("--limit", type=COUNT, default=10, show_default=True, help="How many, best first.")
@json_option
@pass_cli
def search_sessions(cli: CliContext, query: str, agent_id: str | None, limit: int) -> None:
    """Search past conversations that are indexed, live and archived."""
    found = cli.backend.memory_search(query, agent=agent_id, session=None, limit=limit, only_sessions=True)
    show_results(cli, found)


@sessions.command("show", epilog="Example: ocw sessions show main")
@click.argument("key")
@json_option
@pass_cli
def show_session(cli: CliContext, key: str) -> None:
    """Show one session, without its transcript."""
    answer = cli.backend.session(session_named(cli, key))
    if cli.json:
        echo_json(answer)
        return
    click.echo(field_list(session_lines(answer)))
    for note in answer["quarantined"]:
        click.echo(printable(f"quarantined: {note['where']}: {note['why']}"))


@sessions.command("history", epilog="Example: ocw sessions history main --limit 20 --json | jq '.[].role'")
@click.argument("key")
@click.option("--limit", type=COUNT, help="Only the newest entries; all otherwise.")
@json_option
@pass_cli
def show_history(cli: CliContext, key: str, limit: int | None) -> None:
    """Print a session's transcript, oldest entry first."""
    entries, unreadable = cli.backend.history(session_named(cli, key), limit)
    if cli.json:
        echo_json(entries)
    else:
        for entry in entries:
            click.echo("\n".join(entry_lines(entry_of(entry))))
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
    rows, left_out = cli.backend.export_rows(agent_id, session and session_named(cli, session))
    exported = export_sessions(cli.backend, rows, out)
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
    answer = cli.backend.label_session(session_named(cli, key), label)
    session, wanted = answer["sessionKey"], answer["label"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{session} is labelled {wanted!r}" if wanted else f"{session} has no label")


@sessions.command("reset", epilog="Example: ocw sessions reset notes")
@click.argument("key")
@json_option
@pass_cli
def reset_session(cli: CliContext, key: str) -> None:
    """Reset a session now: stop its run, and start an empty transcript. The old one is kept on disk."""
    answer = cli.backend.reset_session(session_named(cli, key))
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['sessionKey']} was reset; its new id is {answer['sessionId']}")


@sessions.command("delete", epilog="Example: ocw sessions delete notes --yes")
@click.argument("key")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_cli
def delete_session(cli: CliContext, key: str, yes: bool) -> None:
    """Delete a session, after writing its transcript to the state directory."""
    # Resolved first, so that the question names the session that would be deleted.
    session = cli.backend.existing_key(session_named(cli, key))
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise BadInput(f"deleting {session} needs a confirmation", hint="add --yes")
        if not click.confirm(f"Delete {session} and everything in it?"):
            click.echo("nothing was deleted")
            return
    answer = cli.backend.delete_session(session)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{session} is deleted")


@sessions.command(
    "cleanup",
    epilog="""\b
Examples:
  ocw sessions cleanup --dry-run
  ocw sessions cleanup --json | jq '.sessions[].why'
Workers do the same by themselves; they remove sessions only if the configuration has
a block session.maintenance with mode enforce.
""",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be done, and why.")
@json_option
@pass_cli
def clean_up(cli: CliContext, dry_run: bool) -> None:
    """Reset expired sessions, and remove unused and surplus ones. Their transcripts are kept on disk."""
    answer = cli.backend.clean_up(is_dry=dry_run)
    found = answer["sessions"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(cleanup_table(found) if found else "nothing to clean up")


def _report_unreadable(count: int) -> None:
    if count:
        entries = f"{count} damaged entr{'y was' if count == 1 else 'ies were'}"
        click.echo(f"{entries} left out and quarantined; `ocw status --damaged` lists them", err=True)
