"""`ocw memory`: search, read, index and check the agents' memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.memory_results import memory_of, show_results
from openclaw_workers.cli.output import COUNT, Exit, echo_json, json_option
from openclaw_workers.cli.render.text import field_list, printable, table
from openclaw_workers.config.resolve import agent_ids, resolve_agent_id
from openclaw_workers.errors import TransientError
from openclaw_workers.memory.scopes import Visibility, visibility

agent_option = click.option("--agent", "agent_id", metavar="ID", help="The agent; else the default one.")
BAR_CELLS = 30


@click.group(
    epilog="""\b
Examples:
  ocw memory search "the wifi of the cabin"
  ocw memory search '"blue pot" AND keys'
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
    settings = cli.loaded.settings
    wanted = [resolve_agent_id(settings, explicit=agent_id)] if agent_id else agent_ids(settings)
    found = [memory_of(cli).status(each) for each in wanted]
    if cli.json:
        echo_json({"ok": True, "agents": found})
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
        for each in found
    ]
    click.echo(table(("AGENT", "INDEX", "EMBEDDER", "FILES", "TRANSCRIPTS", "CHUNKS", "CHANGED"), rows))


@memory.command("index", epilog="Example: ocw memory index --agent work --force")
@agent_option
@click.option("--force", is_flag=True, help="Index all files and transcripts again, changed or not.")
@json_option
@pass_cli
def index(cli: CliContext, agent_id: str | None, force: bool) -> None:
    """Bring the index up to date with the files now."""
    settings = cli.loaded.settings
    wanted = [resolve_agent_id(settings, explicit=agent_id)] if agent_id else agent_ids(settings)
    reports = [memory_of(cli).sync(each, force=force, progress=_bar(each, is_quiet=cli.json)) for each in wanted]
    if cli.json:
        echo_json({"ok": True, "agents": reports})
        return
    for report in reports:
        click.echo(
            f"{report['agentId']}: {report['indexed']} of {report['documents']} documents indexed "
            f"({report['chunks']} chunks), {report['removed']} removed, {report['milliseconds']} ms"
        )
        if report["unembedded"]:
            click.echo(f"searched by words alone for now: {printable(report['unembedded'])}", err=True)


@memory.command("search", epilog="""Example: ocw memory search '"blue pot"' --session main""")
@click.argument("query")
@agent_option
@click.option("--session", metavar="KEY", help="Only what this session may find.")
@click.option("--limit", type=COUNT, default=6, show_default=True, help="How many, best first.")
@json_option
@pass_cli
def search(cli: CliContext, query: str, agent_id: str | None, session: str | None, limit: int) -> None:
    """Search memory files and conversations. Quoted words, or words joined by AND, must all appear."""
    if session is not None:
        visible = visibility(cli.session_key(session, agent=agent_id or ""))
    else:
        visible = Visibility(resolve_agent_id(cli.loaded.settings, explicit=agent_id), (), sees_all=True)
    found = memory_of(cli).search(query, visible, {"maxResults": min(limit, 100)})
    show_results(cli, visible.agent_id, found)


@memory.command("get", epilog="Example: ocw memory get memory/2026-01-31.md --from 10 --lines 5")
@click.argument("path")
@agent_option
@click.option("--from", "first", type=COUNT, help="First line.")
@click.option("--lines", "count", type=COUNT, help="How many lines.")
@json_option
@pass_cli
def get(cli: CliContext, path: str, agent_id: str | None, first: int | None, count: int | None) -> None:
    """Print a memory file, or some lines of it."""
    agent = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    found = memory_of(cli).get(agent, path, first, count)
    if cli.json:
        echo_json({"ok": True, "agentId": agent, **found})
    else:
        click.echo(printable(found["text"]))


@memory.command("doctor", epilog="Example: ocw memory doctor --json | jq '.checks[] | select(.ok | not)'")
@agent_option
@json_option
@pass_cli
def doctor(cli: CliContext, agent_id: str | None) -> None:
    """Check that memory can be searched, and say what to do if it cannot."""
    agent = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    checks = list(_checks(cli, agent))
    is_well = all(check["ok"] for check in checks)
    if cli.json:
        echo_json({"ok": is_well, "agentId": agent, "checks": checks})
    else:
        click.echo(
            field_list([(f"{'ok ' if each['ok'] else 'NOT'} {each['name']}", each["detail"]) for each in checks])
        )
    if not is_well:
        sys.exit(Exit.RUN_FAILED)


def _checks(cli: CliContext, agent: str) -> list[dict[str, Any]]:
    checks = [_check("enabled", *_is_enabled(cli, agent))]
    try:
        status = memory_of(cli).status(agent)
    except TransientError as error:
        return [*checks, _check("index", False, f"{error.message}. {error.hint or ''}".strip())]
    place = f"{status['backend']}, collection {status['collection']}, {status['chunks']} chunks"
    checks.append(_check("index", True, place))
    embedder = status.get("note") or f"{status['provider']}/{status['model']}"
    checks.append(_check("embedder", "note" not in status, embedder))
    waiting = f"{status['changedFiles']} changed files are not indexed yet; `ocw memory index` does it now"
    checks.append(_check("up to date", not status["changedFiles"], waiting if status["changedFiles"] else "yes"))
    found = memory_of(cli).search("memory", Visibility(agent, (), sees_all=True), {"maxResults": 1})
    checks.append(_check("search", True, f"answers, mode {found['mode']}"))
    return checks


def _is_enabled(cli: CliContext, agent: str) -> tuple[bool, str]:
    from openclaw_workers.config.resolve import resolve_agent

    enabled = resolve_agent(cli.loaded.settings, agent, default_model="offline/demo").memory_search.enabled
    return enabled, "yes" if enabled else f"memorySearch.enabled is false for {agent}; its agent has no memory tools"


def _check(name: str, is_ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": is_ok, "detail": detail}


def _bar(agent: str, *, is_quiet: bool) -> Callable[[int, int], None]:
    """A bar on stderr that fills as documents are indexed; only for terminals."""
    if is_quiet or not sys.stderr.isatty():
        return lambda done, all_of: None

    def show(done: int, all_of: int) -> None:
        filled = BAR_CELLS * done // max(1, all_of)
        bar = "█" * filled + "░" * (BAR_CELLS - filled)
        click.echo(f"\r{agent} {bar} {done}/{all_of}", nl=done >= all_of, err=True)

    return show
