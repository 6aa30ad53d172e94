"""`ocw drain` and `ocw undrain`: take a host or a worker out of service without stopping it."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option


@click.command(
    epilog="""\b
Examples:
  ocw drain worker-3                        all workers of a host
  ocw drain worker-3/4711                   one worker
  ocw undrain worker-3
"""
)
@click.argument("name", metavar="HOST|WORKER")
@json_option
@pass_cli
def drain(cli: CliContext, name: str) -> None:
    """Stop giving turns to a host or worker; its processes keep running.

    Its turns are handed over at their next step, and other workers continue them. Workers that start on a drained host
    take no turns either.
    """
    _show(cli, cli.backend.drain(name))


@click.command(epilog="Example: ocw undrain worker-3")
@click.argument("name", metavar="HOST|WORKER")
@json_option
@pass_cli
def undrain(cli: CliContext, name: str) -> None:
    """Let a drained host or worker take turns again."""
    _show(cli, cli.backend.undrain(name))


def _show(cli: CliContext, answer: dict[str, Any]) -> None:
    if cli.json:
        echo_json(answer)
        return
    count = len(answer["workers"])
    state = "drained" if answer["drained"] else "undrained"
    click.echo(f"{answer['kind']} {answer['name']} is {state}: {count} worker{'' if count == 1 else 's'}")
    for lane in answer["lanesWithoutWorkers"]:
        click.echo(f"no worker serves lane {lane} now; its work waits")
