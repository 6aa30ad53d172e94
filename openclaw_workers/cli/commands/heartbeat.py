"""`ocw heartbeat`: turns that agents start by themselves."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.jobs import heartbeats_table


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
    answer = cli.backend.heartbeats()
    beats = answer["heartbeats"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(heartbeats_table(beats) if beats else "no agent beats, or no worker has run since it was set up")


@heartbeat.command("run", epilog="Example: ocw heartbeat run main")
@click.argument("agent")
@json_option
@pass_cli
def run_beat(cli: CliContext, agent: str) -> None:
    """Let an agent beat now. It is skipped for the same reasons as at other times."""
    _show(cli, cli.backend.change_heartbeat(agent, "run"), "beats as soon as a worker looks")


@heartbeat.command("pause", epilog="Example: ocw heartbeat pause main")
@click.argument("agent")
@json_option
@pass_cli
def pause_beat(cli: CliContext, agent: str) -> None:
    """Pause an agent's heartbeat until it is resumed."""
    _show(cli, cli.backend.change_heartbeat(agent, "pause"), "does not beat until it is resumed")


@heartbeat.command("resume", epilog="Example: ocw heartbeat resume main")
@click.argument("agent")
@json_option
@pass_cli
def resume_beat(cli: CliContext, agent: str) -> None:
    """Let an agent beat again."""
    _show(cli, cli.backend.change_heartbeat(agent, "resume"), "beats again")


def _show(cli: CliContext, answer: dict[str, Any], what: str) -> None:
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['agentId']} {what}")
