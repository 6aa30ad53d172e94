"""`ocw logs`: the log lines of the local `ocw up`, of all its processes in the order of time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.log_files import LinesOfRun, LogFollower, LogLine, last_lines
from openclaw_workers.cli.output import COUNT, echo_json, json_option
from openclaw_workers.cli.render.text import printable
from openclaw_workers.errors import NotFound

NAME_COLUMNS = 15


@click.command(
    epilog="""\b
Examples:
  ocw logs                            the last 100 lines of all processes
  ocw logs -f                         and what is logged from now on, until Ctrl-C
  ocw logs --run last                 what was logged about one run
  ocw logs --process worker-main -n 500
  ocw logs -f --json | jq -r .text
Workers and ingress processes of other machines log there: to standard error, or wherever their service manager puts it.
"""
)
@click.option("-f", "--follow", is_flag=True, help="Continue with new lines until Ctrl-C.")
@click.option("-n", "--lines", "count", type=COUNT, default=100, show_default=True, help="How many of the last lines.")
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    default="",
    help="Only lines about this run; a unique part is enough, last is the newest.",
)
@click.option("--process", metavar="NAME", default="", help="Only this process, such as worker-main or ingress.")
@json_option
@pass_cli
def logs(cli: CliContext, *, follow: bool, count: int, run_id: str, process: str) -> None:
    """Show what the processes of the local `ocw up` have logged."""
    files = _files(cli.loaded.state_dir / "logs", process)
    run_id = str(cli.backend.run(run_id)["runId"]) if run_id == "last" else run_id
    # Before the last lines are read, so that no line falls between the two.
    follower = LogFollower(files)
    last = last_lines(files, count, LinesOfRun(run_id))
    if cli.json and not follow:
        echo_json({"ok": True, "lines": [_line_json(line) for line in last]})
        return
    _print(cli, last)
    if follow:
        is_wanted = LinesOfRun(run_id)
        try:
            _print(cli, (line for line in follower.lines() if is_wanted(line)))
        except KeyboardInterrupt:
            return


def _files(folder: Path, process: str) -> list[Path]:
    """The log files of the wanted process, or of all.

    Raises:
        NotFound: nothing was logged here, or not by this process.
    """
    found = sorted(folder.glob("*.log"))
    if not found:
        hint = "`ocw up` logs there; a worker that was started by hand logs to standard error"
        raise NotFound(f"there are no logs in {folder}", hint=hint)
    wanted = [path for path in found if process in ("", path.stem)]
    if not wanted:
        names = ", ".join(path.stem for path in found)
        raise NotFound(f"no process {process} has logged in {folder}", hint=f"these have: {names}")
    return wanted


def _line_json(line: LogLine) -> dict[str, str]:
    return {"process": line.process, "text": line.text}


def _print(cli: CliContext, lines: Iterable[LogLine]) -> None:
    for line in lines:
        if cli.json:
            echo_json(_line_json(line))
        else:
            click.echo(f"{line.process:<{NAME_COLUMNS}}  {printable(line.text)}")
        sys.stdout.flush()
