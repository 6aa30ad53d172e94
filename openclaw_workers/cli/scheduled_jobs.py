"""Scheduled jobs, for the commands that show and change them."""

from __future__ import annotations

from openclaw_workers.cli.context import CliContext
from openclaw_workers.engine import client_graph
from openclaw_workers.engine.schedules.service import JobService


def jobs_of(cli: CliContext) -> JobService:
    return client_graph.jobs_of(cli.stores, cli.waker)
