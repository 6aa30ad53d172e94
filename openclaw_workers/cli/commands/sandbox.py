"""`ocw sandbox`: which sandboxes there are, what holds a session in its own, and which are deleted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, field_list, printable, table
from openclaw_workers.client.follow_message import has_worker
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import normalise
from openclaw_workers.errors import TransientError
from openclaw_workers.sandbox.directory import SANDBOXES_DIR, SandboxDirectory


@click.group(
    epilog="""\b
Examples:
  ocw sandbox list
  ocw sandbox explain --session agent:main:telegram:group:-1001
  ocw sandbox prune
"""
)
def sandbox() -> None:
    """Show sandboxes of this state directory, explain one, delete those that are not used."""


@sandbox.command("list", epilog="Example: ocw sandbox list --json | jq '.sandboxes[].id'")
@json_option
@pass_cli
def list_sandboxes(cli: CliContext) -> None:
    """List the sandboxes that commands have used."""
    found = list(_directory(cli).all())
    if cli.json:
        shown = [{**_camel(asdict(each.info)), "usedAt": each.used_at} for each in found]
        echo_json({"ok": True, "sandboxes": shown})
        return
    if not found:
        click.echo("No sandboxes.")
        return
    rows = [
        (
            each.info.id,
            each.info.scope,
            each.info.access,
            "worker's" if each.info.uid is None else each.info.uid,
            age(each.used_at),
            printable(each.info.workspace),
        )
        for each in found
    ]
    click.echo(table(("SANDBOX", "SCOPE", "ACCESS", "USER", "LAST USED", "WORKSPACE"), rows))


@sandbox.command("explain", epilog="Example: ocw sandbox explain --session main --json | jq .heldBy")
@click.option("--session", "key", metavar="KEY", default="main", show_default=True, help="The session.")
@json_option
@pass_cli
def explain(cli: CliContext, key: str) -> None:
    """Say whether a session is sandboxed, where its commands run and what holds each limit.

    A worker of the service lane answers, because it depends on the host.
    """
    cli.require_local("`ocw sandbox explain`")
    settings = cli.loaded.settings
    session = normalise(key, default_agent=default_agent_id(settings), main_key=settings.session.main_key)
    if not has_worker(cli.stores.workers.all(), Lane.SERVICE):
        raise TransientError("no worker is running for lane service", hint="start one with `ocw up`")
    report = cli.celery_waker.sandbox(session)
    if cli.json:
        echo_json({"ok": True, **report})
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
@click.option("--all", "everything", is_flag=True, help="Also those that are used now and then, if no command runs.")
@json_option
@pass_cli
def prune(cli: CliContext, everything: bool) -> None:
    """Delete sandboxes that were not used for long, with their files. Workspaces of agents are not touched."""
    deleted = _directory(cli).prune(everything=everything)
    if cli.json:
        echo_json({"ok": True, "deleted": deleted})
        return
    click.echo(f"Deleted {', '.join(deleted)}." if deleted else "Nothing to delete.")


def _directory(cli: CliContext) -> SandboxDirectory:
    cli.require_local("`ocw sandbox`")
    return SandboxDirectory(cli.loaded.state_dir / SANDBOXES_DIR)


def _camel(fields: dict[str, Any]) -> dict[str, Any]:
    def name(key: str) -> str:
        head, *rest = key.split("_")
        return head + "".join(part.capitalize() for part in rest)

    return {name(key): value for key, value in fields.items()}
