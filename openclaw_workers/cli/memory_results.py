"""The memory index and what a search finds in it, for `ocw memory search` and `ocw sessions search`."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import echo_json
from openclaw_workers.cli.render.text import printable
from openclaw_workers.engine.memory.client import MemoryClient
from openclaw_workers.state_dir import state_dir_id

SHOWN_LINES = 6


def memory_of(cli: CliContext) -> MemoryClient:
    """The service worker that owns the memory index of this state directory."""
    return MemoryClient(cli.stores.memory, lambda: state_dir_id(cli.loaded.state_dir))


def show_results(cli: CliContext, agent: str, found: dict[str, Any]) -> None:
    if cli.json:
        echo_json({"ok": True, "agentId": agent, **found})
        return
    for result in found["results"]:
        click.echo(f"{result['score']:.2f}  {printable(result['citation'])}")
        lines = [line for line in str(result["snippet"]).splitlines() if line.strip()]
        click.echo("".join(f"      {printable(line)}\n" for line in lines[:SHOWN_LINES]))
    if not found["results"]:
        click.echo("nothing found")
    if note := found.get("note"):
        click.echo(f"searched by words alone: {note}", err=True)
