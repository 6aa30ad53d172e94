"""`ocw heartbeat`: turns that agents start by themselves."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.jobs import heartbeats_table
from openclaw_workers.cli.scheduled_jobs import jobs_of
from openclaw_workers.domain.job import HEARTBEAT
from openclaw_workers.store.schedules import StoredJob
from openclaw_workers.views.jobs import heartbeat_json

REASONS = 5


@click.group(
    epilog="""\b
Examples:
  ocw heartbeat status                      who beats, when next, and how the last ones went
  ocw heartbeat run main                    let an agent beat now
  ocw heartbeat pause main
"""
)
def heartbeat() -> None:
    """Show, run, pause and resume heartbeats."""


@heartbeat.command("status", epilog="Example: ocw heartbeat status --json")
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """Show which agents beat, when next, and the last results or reasons why not."""
    jobs = [each for each in jobs_of(cli).jobs(with_heartbeats=True) if each.job.is_heartbeat]
    beats = [heartbeat_json(each, jobs_of(cli).log(each.job.id, REASONS)) for each in jobs]
    if cli.json:
        echo_json({"ok": True, "heartbeats": beats})
    else:
        click.echo(heartbeats_table(beats) if beats else "no agent beats, or no worker has run since it was set up")


@heartbeat.command("run", epilog="Example: ocw heartbeat run main")
@click.argument("agent")
@json_option
@pass_cli
def run_beat(cli: CliContext, agent: str) -> None:
    """Let an agent beat now. It is skipped for the same reasons as at other times."""
    _answer(cli, jobs_of(cli).make_due(f"{HEARTBEAT}{agent}"), "beats as soon as a worker looks")


@heartbeat.command("pause", epilog="Example: ocw heartbeat pause main")
@click.argument("agent")
@json_option
@pass_cli
def pause_beat(cli: CliContext, agent: str) -> None:
    """Let an agent not beat until it is resumed."""
    _answer(cli, jobs_of(cli).pause(f"{HEARTBEAT}{agent}"), "does not beat until it is resumed")


@heartbeat.command("resume", epilog="Example: ocw heartbeat resume main")
@click.argument("agent")
@json_option
@pass_cli
def resume_beat(cli: CliContext, agent: str) -> None:
    """Let an agent beat again."""
    _answer(cli, jobs_of(cli).resume(f"{HEARTBEAT}{agent}"), "beats again")


def _answer(cli: CliContext, stored: StoredJob, what: str) -> None:
    answer = heartbeat_json(stored, jobs_of(cli).log(stored.job.id, REASONS))
    if cli.json:
        echo_json({"ok": True, **answer})
    else:
        click.echo(f"{answer['agentId']} {what}")
