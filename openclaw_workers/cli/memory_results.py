"""What a search in memory finds, for `ocw memory search` and `ocw sessions search`."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import echo_json
from openclaw_workers.cli.render.text import printable

SHOWN_LINES = 6


def show_results(cli: CliContext, found: dict[str, Any]) -> None:
    if cli.json:
        echo_json(found)
        return
    for result in found["results"]:
        click.echo(f"{result['score']:.2f}  {printable(result['citation'])}")
        lines = [line for line in str(result["snippet"]).splitlines() if line.strip()]
        click.echo("".join(f"      {printable(line)}\n" for line in lines[:SHOWN_LINES]))
    if not found["results"]:
        click.echo("nothing found")
    if note := found.get("note"):
        click.echo(f"searched by words only: {note}", err=True)
