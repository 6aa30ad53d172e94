"""`ocw plugins`: which plugins the workers have loaded, and whether all is well with them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import Exit, echo_json, json_option
from openclaw_workers.cli.render.text import printable, table


@click.group(
    epilog="""\b
Examples:
  ocw plugins list
  ocw plugins check                         exit 1 if one failed or workers differ
"""
)
def plugins() -> None:
    """Show the plugins that workers have loaded, and check them.

    Each worker loads plugins when it starts, and reports what it has.
    """


@plugins.command("list", epilog="Example: ocw plugins list --json | jq '.workers[].plugins[].tools[]'")
@json_option
@pass_cli
def list_plugins(cli: CliContext) -> None:
    """List the plugins and their tools, by worker."""
    answer = cli.backend.plugins()
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (
            plugin["plugin"],
            plugin["state"],
            ", ".join(plugin["tools"]),
            plugin["origin"],
            worker["lane"],
            worker["worker"],
        )
        for worker in answer["workers"]
        for plugin in worker["plugins"]
    ]
    if rows:
        click.echo(table(("PLUGIN", "STATE", "TOOLS", "FROM", "LANE", "WORKER"), sorted(rows), cut=("FROM", "TOOLS")))
        _echo_problems(
            (plugin["plugin"], worker["worker"], problem)
            for worker in answer["workers"]
            for plugin in worker["plugins"]
            for problem in plugin["problems"]
        )
    elif answer["workers"]:
        click.echo("no worker has a plugin; docs/plugins.md shows how to write one")
    else:
        click.echo("no worker is running; start one with `ocw up`")


@plugins.command("check", epilog="Example: ocw plugins check && echo all workers have the same plugins")
@json_option
@pass_cli
def check(cli: CliContext) -> None:
    """Check that every worker has loaded the same plugins, and that none failed."""
    answer = cli.backend.plugin_check()
    if cli.json:
        echo_json(answer)
    elif answer["ok"]:
        click.echo(f"no problems on {answer['workers']} workers")
    else:
        _echo_problems((each["plugin"], each["worker"], each["problem"]) for each in answer["problems"])
    if not answer["ok"]:
        sys.exit(Exit.RUN_FAILED)


def _echo_problems(problems: Iterable[tuple[str, str, str]]) -> None:
    """One line each, below the table: a reason that is cut to fit a column helps nobody."""
    for plugin, worker, problem in problems:
        click.echo(f"{plugin} on {worker}: {printable(problem)}")
