"""`ocw up` and `ocw down`: start and stop everything on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.commands.worker import pass_on_without, without_secret_option
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.invocation import typed
from openclaw_workers.cli.local import banner
from openclaw_workers.cli.local.answering_model import answering_model
from openclaw_workers.cli.local.bots import bot_addresses
from openclaw_workers.cli.local.config_publisher import ConfigPublisher
from openclaw_workers.cli.local.console import Console, wants_colour
from openclaw_workers.cli.local.detach import say_ready, start_detached, stop_running
from openclaw_workers.cli.local.login_link import login_url
from openclaw_workers.cli.local.processes import LocalProcesses, UpPlan, require_answer
from openclaw_workers.cli.local.start_warnings import start_warnings
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.config.configured_models import configured_apis
from openclaw_workers.config.host import find_host
from openclaw_workers.config.loader import Loaded, check_local
from openclaw_workers.config.locate import find_state_dir, working_dir
from openclaw_workers.config.resolve import default_model
from openclaw_workers.domain.runs import WORKER_LANES, Lane
from openclaw_workers.engine.fleet_config import publish_if_none
from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.state_dir import (
    already_running,
    lock_state_dir,
    prepare_state_dir,
    read_runtime,
    refuse_foreign_runtime,
    running_pid,
)


class LaneCounts(click.ParamType[dict[Lane, int], str]):
    """`main=8,subagent=16`"""

    name = "LANE=N,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[Lane, int]:
        counts: dict[Lane, int] = {}
        for part in str(value).split(","):
            lane, _, count = part.strip().partition("=")
            if lane not in WORKER_LANES or not count.isdecimal() or int(count) < 1:
                self.fail(f"{part!r} is not LANE=N with a lane of {', '.join(WORKER_LANES)} and N of 1 or more")
            counts[Lane(lane)] = int(count)
        return counts


@click.command()
@click.option("--detach", is_flag=True, help="Return once everything is ready; `ocw down` stops it.")
@click.option("--no-flower", is_flag=True, help="Do not start Flower.")
@click.option("--no-ingress", is_flag=True, help="Do not start the ingress.")
@click.option("--apart", is_flag=True, help="Start each process by itself, instead of forking them from one (Linux).")
@click.option("--concurrency", type=LaneCounts(), default=None, help="Turns at a time, per lane.")
@without_secret_option
@click.option("--ready-fd", type=int, default=None, hidden=True)
@json_option
@pass_cli
def up(
    cli: CliContext,
    *,
    detach: bool,
    no_flower: bool,
    no_ingress: bool,
    apart: bool,
    concurrency: dict[Lane, int] | None,
    without_secret: tuple[str, ...],
    ready_fd: int | None,
) -> None:
    """Start Redis, a worker per lane, the ingress and Flower, and keep them running.

    Redis is private to the state directory unless REDIS_URL or the configuration names a server. `ocw up` publishes
    the configuration file to its private Redis, now and whenever the file changes. With another Redis it uses the
    published configuration. Ctrl-C stops everything; the next `ocw up` continues where this one ended.

    \b
    Examples:
      ocw up
      ocw up --concurrency main=8,subagent=16
      ocw up --detach && ocw agent -m "hello" && ocw down
      ocw --state-dir /tmp/second up --no-flower
    """
    loaded = _configuration(cli)
    cli.report_unset(loaded.unset)
    pass_on_without(without_secret)
    state_dir = cli.host.state_dir
    prepare_state_dir(state_dir)
    if detach:
        flags = {"--no-flower": no_flower, "--no-ingress": no_ingress, "--apart": apart}
        options = [flag for flag, is_given in flags.items() if is_given]
        if concurrency:
            options += ["--concurrency", ",".join(f"{lane}={count}" for lane, count in concurrency.items())]
        with _explained(state_dir):
            _run_in_background(cli, options)
        _announce(cli, loaded, to_stop=typed("down", cli.host))
        return
    with _explained(state_dir):
        lock_state_dir(state_dir)
        refuse_foreign_runtime(state_dir)
        plan = _plan(
            cli,
            loaded,
            concurrency or {},
            with_flower=not no_flower,
            with_ingress=not no_ingress,
            forks=not apart and sys.platform == "linux",
        )
        _run(cli, loaded, plan, ready_fd)


@click.command()
@json_option
@pass_cli
def down(cli: CliContext) -> None:
    """Stop the `ocw up` of this state directory and wait until it has ended.

    \b
    Examples:
      ocw down
      ocw --state-dir /tmp/second down
    """
    # Without loading the settings, so that a broken configuration does not prevent a stop.
    state_dir = find_state_dir(cli.state_dir, os.environ, working_dir())
    pid = stop_running(state_dir)
    if cli.json:
        echo_json({"ok": True, "stopped": pid is not None, "pid": pid})
    elif pid is None:
        click.echo(f"nothing is running on {state_dir}")
    else:
        click.echo(f"stopped (pid {pid}); the state is kept in {state_dir}")


@contextmanager
def _explained(state_dir: Path) -> Iterator[None]:
    """Add a hint to errors about files of the state directory."""
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename
        if not str(name).startswith(str(state_dir)):
            raise
        # A file of another user may be in use, so it must not be moved.
        advice = "change its owner to the user who starts it" if isinstance(error, PermissionError) else "move it away"
        hint = f"{advice} and start again, or choose another --state-dir"
        raise BadInput(f"{name} cannot be used: {error.strerror}", hint=hint) from error


def _run_in_background(cli: CliContext, options: list[str]) -> None:
    state_dir = cli.host.state_dir
    if (pid := running_pid(state_dir)) is not None:
        raise already_running(state_dir, pid)
    source = ["--config", str(cli.host.source)] if cli.host.source else []
    local = ["--local-config"] if cli.local_config else []
    start_detached(state_dir, ["--state-dir", str(state_dir), *source, *local, "up", *options])


def _configuration(cli: CliContext) -> Loaded:
    """What to start with: the fleet's configuration on a named Redis, that of the file on the private one."""
    if cli.host.redis_url is None or cli.local_config:
        return cli.local
    check_local(cli.host)
    require_answer(cli.host.redis_url)
    publish_if_none(cli.host, cli.redis)
    return cli.loaded


def _run(cli: CliContext, loaded: Loaded, plan: UpPlan, ready_fd: int | None) -> None:
    # In the background nobody reads the stream; the log files have every line.
    stream = sys.stderr if ready_fd is None else None
    console = Console(plan.state_dir / "logs", stream, in_colour=wants_colour(sys.stderr, os.environ))
    is_publisher = plan.redis_url is None and not cli.local_config
    find = partial(find_host, cli.config_path, state_dir=cli.state_dir)
    processes = LocalProcesses(plan, console, os.environ, ConfigPublisher(find) if is_publisher else None)
    try:
        with processes.supervisor as supervisor:
            if processes.start() is None:
                return
            if ready_fd is not None:
                say_ready(ready_fd)
            else:
                _announce(cli, loaded, to_stop=None)
            supervisor.run()
        supervisor.say(f"up.stopped state={plan.state_dir}")
    finally:
        processes.forget()
        console.close()


def _announce(cli: CliContext, loaded: Loaded, *, to_stop: str | None) -> None:
    runtime = read_runtime(loaded.state_dir)
    if runtime is None:  # it was stopped just after it was ready
        raise ConflictError("`ocw up` was stopped while it started", hint="start it again")
    answering, (unsafe, refusals) = answering_model(loaded), start_warnings(loaded, runtime)
    login = login_url(loaded, runtime)
    bots = bot_addresses(loaded.settings, runtime.redis_url) if runtime.ingress_url else {}
    if cli.json:
        echo_json(
            banner.as_json(
                runtime,
                loaded.state_dir,
                answering=answering,
                unsafe=unsafe,
                refusals=refusals,
                login_url=login,
                bots=bots,
            )
        )
        return
    click.echo(
        banner.as_text(
            runtime,
            loaded.state_dir,
            answering=answering,
            unsafe=unsafe,
            refusals=refusals,
            show_password=sys.stdout.isatty(),
            login_url=login,
            bots=bots,
            next_command=typed('agent -m "hello"', cli.host),
            to_stop=to_stop,
        )
    )


def _plan(
    cli: CliContext,
    loaded: Loaded,
    concurrency: Mapping[Lane, int],
    *,
    with_flower: bool,
    with_ingress: bool,
    forks: bool,
) -> UpPlan:
    settings = loaded.settings
    return UpPlan(
        state_dir=cli.host.state_dir,
        config_path=cli.host.source,
        redis_url=cli.host.redis_url,
        namespace=settings.engine.namespace,
        concurrency={lane: concurrency.get(lane) or getattr(settings.lanes, lane).concurrency for lane in WORKER_LANES},
        grace_seconds=settings.engine.grace_seconds,
        with_flower=with_flower,
        with_ingress=with_ingress,
        forks=forks,
        ingress_port=settings.gateway.port,
        is_port_fixed=loaded.origins["gateway.port"] != "default",
        task_events=settings.engine.task_events,
        apis=configured_apis(settings, default_model(settings, os.environ)),
        is_local_config=cli.local_config,
    )
