"""`ocw status`: workers, lanes, queues and leases of the whole installation."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.status import status_text
from openclaw_workers.cli.render.text import age, printable

ADVICE = """\
Everything else works without these records.
Session: `ocw sessions reset KEY` resets it now, `ocw sessions delete KEY` removes it.
Run: `ocw sessions history KEY` still shows what it did; a run that has ended leaves the lists within 7 days.
With --json, `raw` holds the content of a record."""


@click.command(
    epilog="""\b
Examples:
  ocw status
  ocw status --json | jq '.workers[] | {host, pid, lane, runs}'
  ocw status --damaged
"""
)
@click.option("--damaged", is_flag=True, help="List damaged records instead, and what to do about them.")
@json_option
@pass_cli
def status(cli: CliContext, damaged: bool) -> None:
    """Show workers, lanes, queues and leases."""
    if damaged:
        _list_damaged(cli)
        return
    answer = cli.backend.status()
    if cli.json:
        echo_json(answer)
    else:
        click.echo(status_text(answer))


def _list_damaged(cli: CliContext) -> None:
    """One note for each damaged record, newest first."""
    answer = cli.backend.damaged()
    if cli.json:
        echo_json(answer)
        return
    notes = answer["damaged"]
    for note in notes:
        click.echo(f"{printable(note['where'])} ({age(note['at'])})\n  {printable(note['why'])}")
    click.echo(f"\n{ADVICE}" if notes else "no damaged records")
