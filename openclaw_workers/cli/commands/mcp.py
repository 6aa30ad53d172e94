"""`ocw mcp`: the MCP servers that the workers use."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, printable, table


@click.group(epilog="Example: ocw mcp status")
def mcp() -> None:
    """Show the MCP servers that workers are connected to."""


@mcp.command(
    "status", epilog="Example: ocw mcp status --json | jq '.workers[].servers[] | select(.state != \"ready\")'"
)
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """List the servers by worker: whether they work, their tools, and what went wrong last."""
    answer = cli.backend.mcp_status()
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (
            server["server"],
            server["state"],
            len(server["tools"]),
            age(server["since"]),
            server["restarts"],
            worker["lane"],
            worker["worker"],
        )
        for worker in answer["workers"]
        for server in worker["servers"]
    ]
    if rows:
        head = ("SERVER", "STATE", "TOOLS", "SINCE", "RESTARTS", "LANE", "WORKER")
        click.echo(table(head, sorted(rows), right=("TOOLS", "RESTARTS"), cut=("SERVER",)))
        for worker in answer["workers"]:
            for server in worker["servers"]:
                if server["problem"]:
                    click.echo(f"{server['server']} on {worker['worker']}: {printable(server['problem'])}")
    else:
        click.echo("no worker uses an MCP server; they are configured in mcp.servers, see docs/mcp.md")
