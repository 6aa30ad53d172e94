"""`ocw worker`: one Celery worker for one lane."""

from __future__ import annotations

import os
import socket

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.models.runs import Lane


@click.command(epilog="Example: ocw worker --lane main --concurrency 16")
@click.option(
    "--lane", type=click.Choice([lane.value for lane in Lane]), required=True, help="Queue to consume: turns, sub-agents or service."
)
@click.option("--concurrency", type=click.IntRange(1), help="Turns at a time; the lane's setting by default.")
@click.option("--pool", type=click.Choice(["threads", "prefork"]), default="threads", show_default=True)
@click.option("--loglevel", default="INFO", show_default=True)
@pass_cli
def worker(cli: CliContext, lane: str, concurrency: int | None, pool: str, loglevel: str) -> None:
    """Run one worker until it is told to leave."""
    settings = cli.loaded.settings
    slots = concurrency or getattr(settings.lanes, lane).concurrency
    cli.export_environment()
    os.execvp(  # noqa: S606 - our own interpreter, arguments we built
        cli.python,
        [cli.python, "-m", "celery", "-A", "openclaw_workers.tasks.app", "worker", "-Q", lane, "-P", pool]
        + ["-c", str(slots), "-n", f"{lane}.{os.getpid()}@{socket.gethostname()}", "-l", loglevel]
        + ["--without-gossip", "--without-mingle", *(["-E"] if settings.engine.task_events else [])],
    )
