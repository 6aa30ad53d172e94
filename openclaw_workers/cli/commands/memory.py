"""`ocw memory`: search, read, index and check the agents' memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.memory_results import show_results
from openclaw_workers.cli.output import COUNT, Exit, echo_json, json_option
from openclaw_workers.cli.render.text import age, field_list, printable, table

agent_option = click.option("--agent", "agent_id", metavar="ID", help="The agent; else the default one.")
BAR_CELLS = 30


@click.group(
    epilog="""\b
Examples:
  ocw memory search "the wifi of the cabin"
  ocw memory search '"blue pot" AND keys'
  ocw memory files
  ocw memory get MEMORY.md --from 1 --lines 20
  ocw memory index
  ocw memory doctor
"""
)
def memory() -> None:
    """Search, read and check the agents' memory.

    The service worker that owns the index of this state directory answers.
    """


@memory.command("status", epilog="Example: ocw memory status --json | jq '.agents[].chunks'")
@agent_option
@json_option
@pass_cli
def show_status(cli: CliContext, agent_id: str | None) -> None:
    """Show what is indexed for each agent."""
    answer = cli.backend.memory_status(agent_id)
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (
            each["agentId"],
            each["backend"],
            f"{each['provider']}/{each['model']}" if each["model"] else each["provider"],
            each["files"],
            each["transcripts"],
            each["chunks"],
            each["changedFiles"],
        )
        for each in answer["agents"]
    ]
    click.echo(
        table(
            ("AGENT", "INDEX", "EMBEDDER", "FILES", "TRANSCRIPTS", "CHUNKS", "CHANGED"), rows, cut=("EMBEDDER", "AGENT")
        )
    )


@memory.command("index", epilog="Example: ocw memory index --agent work --force")
@agent_option
@click.option("--force", is_flag=True, help="Index all files and transcripts again, changed or not.")
@json_option
@pass_cli
def index(cli: CliContext, agent_id: str | None, force: bool) -> None:
    """Update the index from the files now."""
    answer = cli.backend.memory_index(agent_id, force=force, progress=partial(_bar, is_quiet=cli.json))
    if cli.json:
        echo_json(answer)
        return
    for report in answer["agents"]:
        click.echo(
            f"{report['agentId']}: {report['indexed']} of {report['documents']} documents indexed "
            f"({report['chunks']} chunks), {report['removed']} removed, {report['milliseconds']} ms"
        )
        if report["unembedded"]:
            click.echo(f"searched by words only for now: {printable(report['unembedded'])}", err=True)


@memory.command("search", epilog="""Example: ocw memory search '"blue pot"' --session main""")
@click.argument("query")
@agent_option
@click.option("--session", metavar="KEY", help="Only what this session may find.")
@click.option("--limit", type=COUNT, default=6, show_default=True, help="How many, best first.")
@json_option
@pass_cli
def search(cli: CliContext, query: str, agent_id: str | None, session: str | None, limit: int) -> None:
    """Search memory files and conversations. Quoted words, or words joined by AND, must all appear."""
    show_results(cli, cli.backend.memory_search(query, agent=agent_id, session=session, limit=limit))


@memory.command("files", epilog="Example: ocw memory files --agent work")
@agent_option
@json_option
@pass_cli
def list_files(cli: CliContext, agent_id: str | None) -> None:
    """List the memory files of an agent."""
    answer = cli.backend.memory_files(agent_id)
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (printable(each["path"]), each["bytes"], age(each["modifiedAt"]), "yes" if each["indexed"] else "not yet")
        for each in answer["files"]
    ]
    click.echo(table(("FILE", "BYTES", "CHANGED", "INDEXED"), rows) if rows else "no memory files")


@memory.command("get", epilog="Example: ocw memory get memory/2026-01-31.md --from 10 --lines 5")
@click.argument("path")
@agent_option
@click.option("--from", "first", type=COUNT, help="First line.")
@click.option("--lines", "count", type=COUNT, help="How many lines.")
@json_option
@pass_cli
def get(cli: CliContext, path: str, agent_id: str | None, first: int | None, count: int | None) -> None:
    """Print a memory file, or some lines of it."""
    answer = cli.backend.memory_lines(path, agent=agent_id, first=first, count=count)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(printable(answer["text"]))


@memory.command("doctor", epilog="Example: ocw memory doctor --json | jq '.checks[] | select(.ok | not)'")
@agent_option
@json_option
@pass_cli
def doctor(cli: CliContext, agent_id: str | None) -> None:
    """Check that memory can be searched, and say what to do if it cannot."""
    answer = cli.backend.memory_checks(agent_id)
    if cli.json:
        echo_json(answer)
    else:
        checks = answer["checks"]
        click.echo(
            field_list([(f"{'ok ' if each['ok'] else 'NOT'} {each['name']}", each["detail"]) for each in checks])
        )
    if not answer["ok"]:
        sys.exit(Exit.RUN_FAILED)


def _bar(agent: str, *, is_quiet: bool) -> Callable[[int, int], None]:
    """A bar on stderr that fills as documents are indexed; only for terminals."""
    # A carriage return in a log file would make one endless line.
    if is_quiet or not sys.stderr.isatty():
        return lambda done, all_of: None

    def show(done: int, all_of: int) -> None:
        filled = BAR_CELLS * done // max(1, all_of)
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        click.echo(f"\r{agent} {bar} {done}/{all_of}", nl=done >= all_of, err=True)

    return show
