"""`ocw up` and `ocw down`: everything on this machine, with one word."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.invocation import typed
from openclaw_workers.cli.local import banner
from openclaw_workers.cli.local.console import Console, wants_colour
from openclaw_workers.cli.local.detach import say_ready, start_detached, stop_running
from openclaw_workers.cli.local.processes import LocalProcesses, UpPlan
from openclaw_workers.cli.local.supervisor import Supervisor
from openclaw_workers.config.loader import Loaded, find_state_dir, working_dir
from openclaw_workers.config.resolve import default_model
from openclaw_workers.domain.runs import Lane
from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.state_dir import StateLock, already_running, prepare_state_dir, read_runtime, running_pid


class LaneCounts(click.ParamType[dict[Lane, int], str]):
    """`main=8,subagent=16`"""

    name = "LANE=N,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[Lane, int]:
        counts: dict[Lane, int] = {}
        for part in str(value).split(","):
            lane, _, count = part.strip().partition("=")
            if lane not in list(Lane) or not count.isdecimal() or int(count) < 1:
                self.fail(f"{part!r} is not LANE=N with a lane of {', '.join(Lane)} and N of 1 or more")
            counts[Lane(lane)] = int(count)
        return counts


@click.command()
@click.option("--detach", is_flag=True, help="Return once everything is ready; `ocw down` stops it.")
@click.option("--no-flower", is_flag=True, help="Do not start Flower.")
@click.option("--concurrency", type=LaneCounts(), default=None, help="Turns at a time, per lane.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line when ready.")
@click.option("--ready-fd", type=int, default=None, hidden=True)
@pass_cli
def up(
    cli: CliContext,
    *,
    detach: bool,
    no_flower: bool,
    concurrency: dict[Lane, int] | None,
    as_json: bool,
    ready_fd: int | None,
) -> None:
    """Start Redis, a worker per lane and Flower, and keep them running.

    Redis is private to the state directory unless REDIS_URL or the configuration names a server.
    Ctrl-C stops everything; the next `ocw up` continues where this one ended.

    \b
    Examples:
      ocw up
      ocw up --concurrency main=8,subagent=16
      ocw up --detach && ocw agent -m "hello" && ocw down
      ocw --state-dir /tmp/second up --no-flower
    """
    state_dir = cli.loaded.state_dir
    prepare_state_dir(state_dir)
    if detach:
        options = ["--no-flower"] if no_flower else []
        if concurrency:
            options += ["--concurrency", ",".join(f"{lane}={count}" for lane, count in concurrency.items())]
        with _explained(state_dir):
            _run_in_background(cli, options)
        _announce(cli, as_json=as_json, to_stop=typed("down", cli.loaded))
        return
    with _explained(state_dir):
        lock = StateLock(state_dir)
        lock.acquire()
        try:
            _run(cli, _plan(cli.loaded, concurrency or {}, not no_flower), as_json, ready_fd)
        finally:
            lock.release()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line.")
@pass_cli
def down(cli: CliContext, as_json: bool) -> None:
    """Stop the `ocw up` of this state directory and wait until it has gone.

    \b
    Examples:
      ocw down
      ocw --state-dir /tmp/second down
    """
    # Not through the settings: a configuration broken since must not keep anyone from stopping.
    state_dir = find_state_dir(cli.state_dir, os.environ, working_dir())
    pid = stop_running(state_dir)
    if as_json or cli.json:
        click.echo(f'{{"ok": true, "stopped": {"true" if pid else "false"}, "pid": {pid or "null"}}}')
    elif pid is None:
        click.echo(f"nothing is running on {state_dir}")
    else:
        click.echo(f"stopped (pid {pid}); the state is kept in {state_dir}")


@contextmanager
def _explained(state_dir: Path) -> Iterator[None]:
    """Say what to do about a file of the state directory that is not what it should be."""
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename
        if not str(name).startswith(str(state_dir)):
            raise
        # What belongs to another user may be in use by them.
        way_on = "give it to the user who starts it" if isinstance(error, PermissionError) else "move it away"
        hint = f"{way_on} and start again, or choose another --state-dir"
        raise BadInput(f"{name} cannot be used: {error.strerror}", hint=hint) from error


def _run_in_background(cli: CliContext, options: list[str]) -> None:
    state_dir = cli.loaded.state_dir
    if (pid := running_pid(state_dir)) is not None:
        raise already_running(state_dir, pid)
    source = ["--config", str(cli.loaded.source)] if cli.loaded.source else []
    start_detached(state_dir, ["--state-dir", str(state_dir), *source, "up", *options])


def _run(cli: CliContext, plan: UpPlan, as_json: bool, ready_fd: int | None) -> None:
    # In the background nobody reads the common stream, and the files have every line anyway.
    stream = sys.stderr if ready_fd is None else None
    console = Console(plan.state_dir / "logs", stream, in_colour=wants_colour(sys.stderr, os.environ))
    supervisor = Supervisor(console)
    fleet = LocalProcesses(plan, supervisor, os.environ)
    try:
        with supervisor:
            if fleet.start() is None:
                return
            if ready_fd is not None:
                say_ready(ready_fd)
            else:
                _announce(cli, as_json=as_json, to_stop=None)
            supervisor.run()
        supervisor.say(f"up.stopped state={plan.state_dir}")
    finally:
        fleet.forget()
        console.close()


def _announce(cli: CliContext, *, as_json: bool, to_stop: str | None) -> None:
    loaded = cli.loaded
    runtime = read_runtime(loaded.state_dir)
    if runtime is None:  # stopped between being ready and being announced
        raise ConflictError("`ocw up` was stopped while it started", hint="start it again")
    is_offline = _is_offline(loaded)
    if as_json or cli.json:
        click.echo(banner.as_json(runtime, loaded.state_dir, is_offline=is_offline, pending=loaded.not_in_effect))
        return
    click.echo(
        banner.as_text(
            runtime,
            loaded.state_dir,
            is_offline=is_offline,
            pending=loaded.not_in_effect,
            show_password=sys.stdout.isatty(),
            next_command=typed('agent -m "hello"', loaded),
            to_stop=to_stop,
        )
    )


def _plan(loaded: Loaded, concurrency: Mapping[Lane, int], with_flower: bool) -> UpPlan:
    settings = loaded.settings
    return UpPlan(
        state_dir=loaded.state_dir,
        config_path=loaded.source,
        redis_url=settings.redis.url.get_secret_value() if settings.redis.url else None,
        namespace=settings.engine.namespace,
        concurrency={lane: concurrency.get(lane) or getattr(settings.lanes, lane).concurrency for lane in Lane},
        grace_seconds=settings.engine.grace_seconds,
        with_flower=with_flower,
        task_events=settings.engine.task_events,
    )


def _is_offline(loaded: Loaded) -> bool:
    return default_model(loaded.settings, os.environ).startswith("offline/")
