"""`ocw sandbox`: which sandboxes there are, what holds a session in its own, and which are deleted."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, field_list, printable, table


@click.group(
    epilog="""\b
Examples:
  ocw sandbox list
  ocw sandbox explain --session agent:main:telegram:group:-1001
  ocw sandbox prune
"""
)
def sandbox() -> None:
    """List sandboxes, explain how a session is sandboxed, and delete unused ones."""


@sandbox.command("list", epilog="Example: ocw sandbox list --json | jq '.sandboxes[].id'")
@json_option
@pass_cli
def list_sandboxes(cli: CliContext) -> None:
    """List the sandboxes that commands have used."""
    answer = cli.backend.sandboxes()
    if cli.json:
        echo_json(answer)
        return
    if not answer["sandboxes"]:
        click.echo("No sandboxes.")
        return
    rows = [
        (
            each["id"],
            each["scope"],
            each["access"],
            "worker's" if each["uid"] is None else each["uid"],
            age(each["usedAt"]),
            printable(each["workspace"]),
        )
        for each in answer["sandboxes"]
    ]
    click.echo(table(("SANDBOX", "SCOPE", "ACCESS", "USER", "LAST USED", "WORKSPACE"), rows, cut=("WORKSPACE",)))


@sandbox.command("explain", epilog="Example: ocw sandbox explain --session main --json | jq .heldBy")
@click.option("--session", "key", metavar="KEY", default="main", show_default=True, help="The session.")
@json_option
@pass_cli
def explain(cli: CliContext, key: str) -> None:
    """Say whether a session is sandboxed, where its commands run and what enforces each limit.

    A service worker answers, because it depends on the host.
    """
    report = cli.backend.sandbox(key)
    if cli.json:
        echo_json(report)
        return
    click.echo(field_list(_lines(report)))


def _lines(report: dict[str, Any]) -> list[tuple[str, object]]:
    working = "works on this host" if report["available"] else f"does not work: {printable(report['reason'])}"
    lines: list[tuple[str, object]] = [
        ("session", printable(report["sessionKey"])),
        ("sandboxed", f"{'yes' if report['sandboxed'] else 'no'} (mode {report['mode']})"),
        ("backend", f"{report['backend']}, {working}"),
        ("workspace", printable(report["workspace"])),
    ]
    if not report["sandboxed"]:
        return lines
    shown = [
        ("inside", report["inside"]),
        ("sandbox", f"{report['sandbox']} (scope {report['scope']}, access {report['workspaceAccess']})"),
        *((name, value) for name, value in report["limits"].items()),
    ]
    return [*lines, *shown, *((f"{name} by", value) for name, value in report["heldBy"].items())]


@sandbox.command("prune", epilog="Example: ocw sandbox prune --all")
@click.option("--all", "everything", is_flag=True, help="Also the others, unless a command may still run there.")
@json_option
@pass_cli
def prune(cli: CliContext, everything: bool) -> None:
    """Delete sandboxes that are due (sandbox.prune), with their files. Workspaces of agents are not touched."""
    answer = cli.backend.prune_sandboxes(everything=everything)
    if cli.json:
        echo_json(answer)
        return
    deleted = answer["deleted"]
    click.echo(f"Deleted {', '.join(deleted)}." if deleted else "Nothing to delete.")
