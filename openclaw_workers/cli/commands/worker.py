"""`ocw worker`: one Celery worker for one lane."""

from __future__ import annotations

import os

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.local.celery_argv import celery_argv
from openclaw_workers.cli.output import json_option
from openclaw_workers.domain.runs import WORKER_LANES, Lane

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL")
"""The log levels of Celery."""


@click.command(epilog="Example: ocw worker --lane main --concurrency 16")
@click.option(
    "--lane",
    type=click.Choice([lane.value for lane in WORKER_LANES]),
    required=True,
    help="Queue to consume: turns, sub-agents or service.",
)
@click.option("--concurrency", type=click.IntRange(1), help="Turns at a time; default: the lane's setting.")
@click.option("--pool", type=click.Choice(["threads", "prefork"]), default="threads", show_default=True)
@click.option("--loglevel", type=click.Choice(LEVELS, case_sensitive=False), default="INFO", show_default=True)
@json_option
@pass_cli
def worker(cli: CliContext, *, lane: str, concurrency: int | None, pool: str, loglevel: str) -> None:
    """Run one worker until it gets SIGTERM.

    It logs to stderr; with --json, one JSON object per line.
    """
    settings = cli.loaded.settings
    slots = concurrency or getattr(settings.lanes, lane).concurrency
    cli.export_environment()
    if cli.json:
        os.environ["OPENCLAW_LOG_FORMAT"] = "json"
    argv = celery_argv(
        Lane(lane),
        slots,
        pool=pool,
        loglevel=loglevel,
        events=settings.engine.task_events,
    )
    os.execv(argv[0], argv)  # noqa: S606 - our own interpreter, arguments we built
