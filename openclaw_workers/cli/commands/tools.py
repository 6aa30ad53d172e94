"""`ocw tools`: which tools a session has, and what took the others away."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import printable, table
from openclaw_workers.domain.messages import Authority

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
    report = cli.backend.tools(key, authority)
    if cli.json:
        echo_json(report)
        return
    rows = [
        (tool["name"], "yes" if tool["allowed"] else "no", tool["removedBy"] or "", printable(tool["reason"] or ""))
        for tool in report["tools"]
    ]
    click.echo(table(("TOOL", "HAS IT", "REMOVED BY", "REASON"), rows, cut=("REASON",)))
    _warn(report)


@tools.command("explain", epilog="Example: ocw tools explain exec --session agent:main:telegram:group:-1001")
@click.argument("tool", metavar="TOOL")
@_SESSION
@_AS
@json_option
@pass_cli
def explain(cli: CliContext, tool: str, key: str, authority: str) -> None:
    """Say whether a session has a tool; if not, which layer removed it, and by which setting."""
    report = cli.backend.tool(tool, key, authority)
    if cli.json:
        echo_json(report)
        return
    found = report["tool"]
    session, who = printable(report["sessionKey"]), report["authority"]
    if found["allowed"]:
        click.echo(f"{found['name']}: {session} has it (authority {who})")
        return
    click.echo(f"{found['name']}: {session} does not have it (authority {who})")
    click.echo(f"removed by: {found['removedBy']}\nbecause: {printable(found['reason'])}")
    if found["setting"]:
        click.echo(f"setting: {printable(found['setting'])}")
    _warn(report)


def _warn(report: dict[str, Any]) -> None:
    for warning in report["warnings"]:
        click.echo(f"warning: {printable(warning)}", err=True)
