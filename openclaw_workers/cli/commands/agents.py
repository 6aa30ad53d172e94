"""`ocw agents`: the configured agents, their system prompts, and where their files are."""

from __future__ import annotations

import click

from openclaw_workers.cli.commands.agents_move import move_files
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import printable, table
from openclaw_workers.engine.intake.commands.context_report import size_lines


@click.group(
    epilog="""\b
Examples:
  ocw agents list
  ocw agents prompt main
  ocw agents prompt main --sizes
  ocw agents move main --to host-b
"""
)
def agents() -> None:
    """List agents, show their system prompts, move their files to another host."""


agents.add_command(move_files)


@agents.command("list", epilog="Example: ocw agents list --json | jq '.agents[].model'")
@json_option
@pass_cli
def list_agents(cli: CliContext) -> None:
    """List the configured agents."""
    answer = cli.backend.agents()
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (
            agent["agentId"] + (" (default)" if agent["default"] else ""),
            agent["name"],
            agent["model"],
            ", ".join(agent["fallbacks"]),
            agent["thinking"],
            agent["workspace"],
        )
        for agent in answer["agents"]
    ]
    click.echo(
        table(
            ("AGENT", "NAME", "MODEL", "FALLBACKS", "THINKING", "WORKSPACE"),
            rows,
            cut=("FALLBACKS", "NAME", "WORKSPACE"),
        )
    )


@agents.command("prompt", epilog="Example: ocw agents prompt main --sizes")
@click.argument("agent_id", metavar="ID")
@click.option("--sizes", is_flag=True, help="Only the size of each part.")
@json_option
@pass_cli
def show_prompt(cli: CliContext, agent_id: str, sizes: bool) -> None:
    """Print an agent's system prompt, with a size per part.

    A service worker builds it, because it contains files of the agent's workspace.
    """
    prompt = cli.backend.prompt(agent_id)
    if cli.json:
        parts = [{name: part[name] for name in part if not (sizes and name == "text")} for part in prompt["parts"]]
        echo_json({**prompt, "parts": parts})
        return
    if not sizes:
        for part in prompt["parts"]:
            size = f"{part['chars']:,} characters, about {part['tokens']:,} tokens"
            click.echo(f"--- {part['name']} ({size})\n{printable(part['text'])}\n")
        click.echo("---")
    click.echo(f"model {prompt['model']}, window {prompt['window']:,} tokens")
    click.echo(printable("\n".join(size_lines(prompt))))
