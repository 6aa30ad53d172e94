"""`ocw worker`: one Celery worker for one lane."""

from __future__ import annotations

import os

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.local.celery_argv import celery_argv
from openclaw_workers.cli.output import WholeNumber, json_option
from openclaw_workers.domain.runs import WORKER_LANES, Lane
from openclaw_workers.engine.fleet_config import WITHOUT_SECRETS_VARIABLE

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL")
"""The log levels of Celery."""


without_secret_option = click.option(
    "--without-secret",
    "without_secret",
    metavar="NAME",
    multiple=True,
    help="Take turns even if this host lacks a secret that other workers have; can be repeated.",
)


def pass_on_without(names: tuple[str, ...]) -> None:
    """Pass `--without-secret` on to Celery's processes."""
    if names:
        os.environ[WITHOUT_SECRETS_VARIABLE] = ",".join(names)


@click.command(epilog="Example: ocw worker --lane main --concurrency 16")
@click.option(
    "--lane",
    type=click.Choice([lane.value for lane in WORKER_LANES]),
    required=True,
    help="Lane to serve: main (turns), subagent, or service (announces, prompts, memory).",
)
@click.option("--concurrency", type=WholeNumber(1), help="Turns at a time; default: the lane's setting.")
@click.option(
    "--pool",
    type=click.Choice(["threads", "prefork"]),
    default="threads",
    show_default=True,
    help="How turns run side by side: in threads, or in processes.",
)
@click.option(
    "--loglevel",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="INFO",
    show_default=True,
    help="The least important lines that are logged.",
)
@without_secret_option
@json_option
@pass_cli
def worker(
    cli: CliContext,
    *,
    lane: str,
    concurrency: int | None,
    pool: str,
    loglevel: str,
    without_secret: tuple[str, ...],
) -> None:
    """Run one worker until it gets SIGTERM.

    It uses the published configuration; if none is published, it publishes that of this host.
    It logs to stderr; with --json, one JSON object per line.
    """
    cli.wait_for_redis()
    settings = cli.loaded.settings
    slots = concurrency or getattr(settings.lanes, lane).concurrency
    cli.export_environment()
    pass_on_without(without_secret)
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
