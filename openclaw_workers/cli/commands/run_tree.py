"""`ocw runs tree`: who spawned whom, and how far each one is; live with --watch."""

from __future__ import annotations

import json
import shutil
import sys
import time
from itertools import islice
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import find_run, find_session, report_left_out, trees
from openclaw_workers.cli.output import COUNT, echo_json, json_option
from openclaw_workers.cli.render.text import cut_to_columns
from openclaw_workers.cli.render.trees import tree_summary, tree_text
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.views.trees import Node, build_trees, find_node, tree_json

RECENT = 500
EVERY_SECONDS = 0.5
CLEAR = "\x1b[H\x1b[J"


@click.command(
    "tree",
    epilog="""\b
Examples:
  ocw runs tree                             what is at work now, or else what was last
  ocw runs tree --watch                     the same, live, until Ctrl-C
  ocw runs tree main --watch                the trees of one session, until all of it has settled
  ocw runs tree run-0123456789abcdef --json
""",
)
@click.argument("of", metavar="[RUN | KEY]", required=False)
@click.option("--watch", is_flag=True, help="Stay and show each change; ends when a named tree has settled.")
@click.option("--limit", type=COUNT, default=5, show_default=True, help="How many settled trees of KEY.")
@json_option
@pass_cli
def run_tree(cli: CliContext, of: str | None, watch: bool, limit: int) -> None:
    """Show runs as trees: state, lane, host, age, tokens, cost of each sub-agent."""
    view = TreeView(cli, of, limit)
    if watch:
        _watch(cli, view)
        return
    tops = view.read()
    if cli.json:
        echo_json(_facts(cli, tops))
    elif tops:
        click.echo(f"{tree_text(tops)}\n\n{tree_summary(tops)}")
    else:
        click.echo('no runs; `ocw agent -m "ask three sub-agents to count to 3, 5 and 8 slowly"` makes a tree')
    report_left_out(cli.stores.reader.unreadable)


class TreeView:
    """What was asked to be seen, read anew each time."""

    def __init__(self, cli: CliContext, of: str | None, limit: int) -> None:
        self._cli = cli
        self._limit = limit
        self._run: RunId | None = None
        self._session: SessionKey | None = None
        if of is not None and of.startswith("run-"):
            run = find_run(cli, of)
            self._run, self._session = run.id, _root(run)
        elif of is not None:
            self._session = find_session(cli, of)[0]

    @property
    def is_named(self) -> bool:
        return self._session is not None

    def read(self) -> list[Node]:
        if self._session is None:
            return self._at_work()
        tops = self._trees_of(self._session)
        if self._run is not None:
            found = find_node(tops, self._run)
            return [found] if found else []
        live = [top for top in tops if not top.is_settled]
        return live or tops[-self._limit :]

    def _at_work(self) -> list[Node]:
        recent = list(islice(self._cli.stores.reader.each_run(RECENT), RECENT))
        live = [run for run in recent if not run.state.is_final or (run.is_child and run.settled_at is None)]
        last = next((run for run in recent if run.is_child), recent[0] if recent else None)
        # A tree between two turns has nothing at work in it, and is not over.
        on_the_way = [batch.root for batch in trees(self._cli).undelivered()]
        tops = [top for root in dict.fromkeys([*map(_root, live), *on_the_way]) for top in self._trees_of(root)]
        at_work = [top for top in tops if not top.is_settled]
        if at_work or last is None:
            return at_work
        return self._trees_of(_root(last))[-1:]

    def _trees_of(self, session: SessionKey) -> list[Node]:
        reading = trees(self._cli)
        runs = reading.runs(session)
        return build_trees(runs, reading.batches(run.batch for run in runs if run.batch))


def _root(run: Run) -> SessionKey:
    return run.root_session_key or run.session_key


def _watch(cli: CliContext, view: TreeView) -> None:
    """Until Ctrl-C, or until what was named has settled."""
    on_terminal = sys.stdout.isatty() and not cli.json
    shown = ""
    while True:
        try:
            tops = view.read()
        except StoreUnavailable as error:
            if not shown:
                raise
            click.echo(f"[{error.message}; still trying]", err=True)
        else:
            now = _changes(tops)
            if on_terminal:
                _draw(tops)
            elif now != shown:
                _tell(cli, tops)
            shown = now
            if view.is_named and all(top.is_settled for top in tops):
                return
        time.sleep(EVERY_SECONDS)


def _draw(tops: list[Node]) -> None:
    """As much as the terminal holds, each run on one line."""
    columns, lines = shutil.get_terminal_size()
    rows = tree_text(tops).splitlines() if tops else ["nothing is running"]
    room = max(3, lines - 4)
    hidden = len(rows) - room
    if hidden > 0:
        rows = [*rows[:room], f"… {hidden} more"]
    head = f"{time.strftime('%H:%M:%S')}  {tree_summary(tops)}  (Ctrl-C leaves)"
    click.echo(CLEAR + "\n".join(cut_to_columns(row, columns) for row in [head, "", *rows]))


def _tell(cli: CliContext, tops: list[Node]) -> None:
    if cli.json:
        echo_json(_facts(cli, tops))
    else:
        click.echo(f"{time.strftime('%H:%M:%S')}  {tree_summary(tops)}\n{tree_text(tops) if tops else ''}\n")


def _facts(cli: CliContext, tops: list[Node]) -> dict[str, Any]:
    """docs/cli.md lists the fields."""
    return {"ok": True, "trees": [tree_json(top, now_ms()) for top in tops], "unreadable": cli.stores.reader.unreadable}


def _changes(tops: list[Node]) -> str:
    """What differs when there is something new to tell: the passing of time alone is not."""
    nodes = [node for top in tops for node in top.walk()]
    return json.dumps([[n.run.id, n.run.state, len(n.run.attempts), n.batch and n.batch.state] for n in nodes])
