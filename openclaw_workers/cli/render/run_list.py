"""Watching all runs: a list that stays current on a terminal, a line per change elsewhere."""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.output import echo_json
from openclaw_workers.cli.render.runs import run_table
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.views.runs import run_json

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.runs import Run

RECENT = 200
EVERY_SECONDS = 1.0
CLEAR = "\x1b[H\x1b[J"


def watch_all(cli: CliContext) -> None:
    """Until Ctrl-C. Looks at the newest runs only, so that it costs the same however many there have been."""
    on_terminal = sys.stdout.isatty() and not cli.json
    known: dict[str, tuple[str, int]] | None = None
    while True:
        try:
            recent = list(islice(cli.stores.reader.each_run(RECENT), RECENT))
        except StoreUnavailable as error:
            if known is None:
                raise
            click.echo(f"[{error.message}; still trying]", err=True)
        else:
            if on_terminal:
                _draw([run for run in recent if not run.state.is_final])
            else:
                _tell_changes(cli, recent, known)
            known = {run.id: _mark(run) for run in recent}
        time.sleep(EVERY_SECONDS)


def _draw(live: list[Run]) -> None:
    body = run_table(live) if live else "nothing is running"
    click.echo(f"{CLEAR}{time.strftime('%H:%M:%S')}  {len(live)} running or queued  (Ctrl-C leaves)\n\n{body}")


def _tell_changes(cli: CliContext, recent: list[Run], known: dict[str, tuple[str, int]] | None) -> None:
    for run in reversed(recent):
        if known is None and run.state.is_final:
            continue  # it ended before anyone watched
        if known is not None and known.get(run.id) == _mark(run):
            continue
        if cli.json:
            echo_json(run_json(run))
        else:
            worker = run.attempts[-1].worker.rpartition("/")[0] if run.attempts else ""
            told = [time.strftime("%H:%M:%S"), run.id, f"{run.state:<8}", run.session_key]
            click.echo(" ".join([*told, *([f"on {worker}"] if worker else [])]))


def _mark(run: Run) -> tuple[str, int]:
    """A change worth telling: another state, or another owner."""
    return run.state, len(run.attempts)
