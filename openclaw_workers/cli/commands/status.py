"""`ocw status`: workers, lanes, queues and leases of the whole installation."""

from __future__ import annotations

import click

from openclaw_workers.cli.commands.damaged import list_damaged
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import overview, trees
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.status import status_text
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.fleet import WorkerInfo
from openclaw_workers.views.status import status_json


@click.command(
    epilog="""\b
Examples:
  ocw status
  ocw status --json | jq '.workers[] | {host, pid, lane, runs}'
  ocw status --damaged
"""
)
@click.option("--damaged", is_flag=True, help="List the records that could not be read instead, and what to do.")
@json_option
@pass_cli
def status(cli: CliContext, damaged: bool) -> None:
    """Show workers, lanes, queues and leases."""
    if damaged:
        list_damaged(cli)
        return
    view = overview(cli)
    undelivered = trees(cli).undelivered()
    status = status_json(
        workers=_workers(cli),
        held=view.held(),
        queues={lane: view.queue(lane) for lane in Lane},
        caps=cli.stores.caps,
        waiting=view.waiting(),
        totals=view.totals(),
        undelivered=undelivered,
        now_ms=now_ms(),
    )
    if cli.json:
        echo_json({"ok": True, **status})
    else:
        click.echo(status_text(status, undelivered))


def _workers(cli: CliContext) -> list[WorkerInfo]:
    """Every known worker. A worker with a damaged record is listed, and the record is quarantined."""
    found = cli.stores.fleet.workers()
    for info in found:
        if info.is_damaged:
            cli.stores.reader.quarantine(f"worker {info.id}", "what it said of itself is no hash", "")
    return found
