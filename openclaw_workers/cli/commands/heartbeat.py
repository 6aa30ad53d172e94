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
  ocw heartbeat status                      which agents have heartbeats, and how the last ones went
  ocw heartbeat run main                    start a heartbeat now
  ocw heartbeat pause main
"""
)
def heartbeat() -> None:
    """Show, run, pause and resume heartbeats."""


@heartbeat.command("status", epilog="Example: ocw heartbeat status --json")
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """Show which agents have heartbeats, when the next one is due, and how the last ones went."""
    answer = cli.backend.heartbeats()
    beats = answer["heartbeats"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(
            heartbeats_table(beats)
            if beats
            else "no agent has heartbeats, or no worker has run since they were configured"
        )


@heartbeat.command("run", epilog="Example: ocw heartbeat run main")
@click.argument("agent")
@json_option
@pass_cli
def run_beat(cli: CliContext, agent: str) -> None:
    """Start an agent's heartbeat now. It may be skipped for the same reasons as any other."""
    _show(cli, cli.backend.change_heartbeat(agent, "run"), "starts its heartbeat within seconds")


@heartbeat.command("pause", epilog="Example: ocw heartbeat pause main")
@click.argument("agent")
@json_option
@pass_cli
def pause_beat(cli: CliContext, agent: str) -> None:
    """Pause an agent's heartbeat until it is resumed."""
    _show(cli, cli.backend.change_heartbeat(agent, "pause"), "has no heartbeats until you resume them")


@heartbeat.command("resume", epilog="Example: ocw heartbeat resume main")
@click.argument("agent")
@json_option
@pass_cli
def resume_beat(cli: CliContext, agent: str) -> None:
    """Continue an agent's heartbeats."""
    _show(cli, cli.backend.change_heartbeat(agent, "resume"), "beats again")


def _show(cli: CliContext, answer: dict[str, Any], what: str) -> None:
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['agentId']} {what}")
