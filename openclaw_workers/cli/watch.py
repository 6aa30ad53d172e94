"""`--watch`: a list or tree that stays current on a terminal, and a line for each change elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.output import echo_json
from openclaw_workers.cli.render.runs import is_final, run_table
from openclaw_workers.cli.render.text import cut_to_columns
from openclaw_workers.cli.render.trees import nodes_of, tree_summary, tree_text
from openclaw_workers.errors import StoreUnavailable

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext

Fields = Mapping[str, Any]

RECENT = 200
RUNS_EVERY_SECONDS = 1.0
TREES_EVERY_SECONDS = 0.5
SETTLED_EVERY_SECONDS = 0.1
CLEAR = "\x1b[H\x1b[J"


def watch_runs(cli: CliContext) -> None:
    """Until Ctrl-C. Reads only the newest runs, so the cost does not grow with their number."""
    on_terminal = sys.stdout.isatty() and not cli.json
    known: dict[str, tuple[str, int]] | None = None
    while True:
        try:
            recent = cli.backend.runs(RECENT, None, None)["runs"]
        except StoreUnavailable as error:
            # At the first read it is the command that fails; later it is only a pause.
            if known is None:
                raise
            click.echo(f"[{error.message}; still trying]", err=True)
        else:
            if on_terminal:
                _draw_runs([run for run in recent if not is_final(run)])
            else:
                _print_changes(cli, recent, known)
            known = {run["runId"]: _state_of(run) for run in recent}
        time.sleep(RUNS_EVERY_SECONDS)


def _draw_runs(live: list[Fields]) -> None:
    body = run_table(live) if live else "nothing is running"
    click.echo(f"{CLEAR}{time.strftime('%H:%M:%S')}  {len(live)} running or queued  (Ctrl-C leaves)\n\n{body}")


def _print_changes(cli: CliContext, recent: list[Fields], known: dict[str, tuple[str, int]] | None) -> None:
    # Redis lists the newest first; a log reads downwards.
    for run in reversed(recent):
        if known is None and is_final(run):
            continue  # it ended before the watch began
        if known is not None and known.get(run["runId"]) == _state_of(run):
            continue
        if cli.json:
            echo_json(run)
        else:
            worker = run["attempts"][-1]["worker"].rpartition("/")[0] if run["attempts"] else ""
            line = [time.strftime("%H:%M:%S"), run["runId"], f"{run['state']:<8}", run["sessionKey"]]
            click.echo(" ".join([*line, *([f"on {worker}"] if worker else [])]))


def _state_of(run: Fields) -> tuple[str, int]:
    """Changes with the state and with the owner, which is when a line is printed."""
    return run["state"], len(run["attempts"])


def watch_trees(cli: CliContext, of: str | None, limit: int) -> None:
    """Until Ctrl-C, or until a named tree has settled."""
    on_terminal = sys.stdout.isatty() and not cli.json
    shown = ""
    while True:
        try:
            answer = cli.backend.trees(of, limit)
        except StoreUnavailable as error:
            if not shown:
                raise
            click.echo(f"[{error.message}; still trying]", err=True)
        else:
            roots = answer["trees"]
            state = _state_of_trees(roots)
            if on_terminal:
                draw_trees(roots)
            elif state != shown:
                _print_trees(cli, answer)
            shown = state
            if of is not None and all(root["settled"] for root in roots):
                return
        time.sleep(TREES_EVERY_SECONDS)


def draw_trees(roots: Sequence[Fields]) -> None:
    """Draw as much as the terminal holds, each run on one line."""
    columns, lines = shutil.get_terminal_size()
    rows = tree_text(roots).splitlines() if roots else ["nothing is running"]
    room = max(3, lines - 4)
    hidden = len(rows) - room
    if hidden > 0:
        rows = [*rows[:room], f"… {hidden} more"]
    head = f"{time.strftime('%H:%M:%S')}  {tree_summary(roots)}  (Ctrl-C leaves)"
    click.echo(CLEAR + "\n".join(cut_to_columns(row, columns) for row in [head, "", *rows]))


def _print_trees(cli: CliContext, answer: Fields) -> None:
    roots = answer["trees"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{time.strftime('%H:%M:%S')}  {tree_summary(roots)}\n{tree_text(roots) if roots else ''}\n")


def _state_of_trees(roots: Sequence[Fields]) -> str:
    """Changes with states, owners and deliveries, but not with time alone."""
    nodes = list(nodes_of(roots))
    return json.dumps([[node["runId"], node["state"], len(node["attempts"]), node["delivery"]] for node in nodes])


def wait_until_settled(cli: CliContext, runs: Sequence[str]) -> None:
    """Return when these sub-agents, and everything they spawned, have ended."""
    while any(run["settledAt"] is None for run in cli.backend.some_runs(runs)):
        time.sleep(SETTLED_EVERY_SECONDS)
