"""`ocw tools`: which tools a session has, and what took the others away."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import printable, table
from openclaw_workers.client.follow_message import has_worker
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import normalise
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import NotFound, TransientError

_SESSION = click.option("--session", "key", metavar="KEY", default="main", show_default=True, help="The session.")
_AS = click.option(
    "--as",
    "authority",
    type=click.Choice([each.value for each in Authority]),
    default=Authority.OWNER.value,
    show_default=True,
    help="Who asks for the turn.",
)


@click.group(
    epilog="""\b
Examples:
  ocw tools list
  ocw tools list --session agent:main:telegram:group:-1001 --as anyone
  ocw tools explain exec --session main
"""
)
def tools() -> None:
    """Show which tools a session has, and which layer of the policy removed the others."""


@tools.command("list", epilog="Example: ocw tools list --session main --json | jq '.tools[] | select(.allowed).name'")
@_SESSION
@_AS
@json_option
@pass_cli
def list_tools(cli: CliContext, key: str, authority: str) -> None:
    """List all tools of the workers, and whether a session has them."""
    report = _report(cli, key, authority)
    if cli.json:
        echo_json({"ok": True, **report})
        return
    rows = [
        (tool["name"], "yes" if tool["allowed"] else "no", tool["removedBy"] or "", printable(tool["reason"] or ""))
        for tool in report["tools"]
    ]
    click.echo(table(("TOOL", "HAS IT", "REMOVED BY", "REASON"), rows))
    _warn(report)


@tools.command("explain", epilog="Example: ocw tools explain exec --session agent:main:telegram:group:-1001")
@click.argument("tool", metavar="TOOL")
@_SESSION
@_AS
@json_option
@pass_cli
def explain(cli: CliContext, tool: str, key: str, authority: str) -> None:
    """Say whether a session has a tool; if not, which layer removed it, and by which setting."""
    report = _report(cli, key, authority)
    known = {each["name"]: each for each in report["tools"]}
    found = known.get(tool) or known.get(tool.strip().lower())
    if found is None:
        raise NotFound(f"no worker has a tool {tool!r}", hint=did_you_mean(tool, known) or "`ocw tools list` shows all")
    if cli.json:
        echo_json({"ok": True, **{name: value for name, value in report.items() if name != "tools"}, "tool": found})
        return
    session, who = printable(report["sessionKey"]), report["authority"]
    if found["allowed"]:
        click.echo(f"{found['name']}: {session} has it (authority {who})")
        return
    click.echo(f"{found['name']}: {session} does not have it (authority {who})")
    click.echo(f"removed by: {found['removedBy']}\nbecause: {printable(found['reason'])}")
    if found["setting"]:
        click.echo(f"setting: {printable(found['setting'])}")
    _warn(report)


def _report(cli: CliContext, key: str, authority: str) -> dict[str, Any]:
    cli.require_local("`ocw tools`")
    settings = cli.loaded.settings
    session = normalise(key, default_agent=default_agent_id(settings), main_key=settings.session.main_key)
    if not has_worker(cli.stores.workers.all(), Lane.SERVICE):
        raise TransientError("no worker is running for lane service", hint="start one with `ocw up`")
    return cli.celery_waker.tools(session, authority)


def _warn(report: dict[str, Any]) -> None:
    for warning in report["warnings"]:
        click.echo(f"warning: {printable(warning)}", err=True)
