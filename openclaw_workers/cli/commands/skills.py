"""`ocw skills`: list, show, check, begin and add skills."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import Exit, echo_json, json_option
from openclaw_workers.cli.render.text import field_list, printable, table
from openclaw_workers.errors import BadInput

if TYPE_CHECKING:
    from openclaw_workers.skills.install import Package

agent_option = click.option("--agent", "agent_id", metavar="ID", help="The agent; else the default one.")
DESCRIPTION_COLUMNS = 60


@click.group(
    epilog="""\b
Examples:
  ocw skills list
  ocw skills list --all
  ocw skills show git
  ocw skills check
  ocw skills new invoice-check --description "Check invoices against orders."
  ocw skills add ./my-skill
  ocw skills add my-skill.zip --yes
"""
)
def skills() -> None:
    """List, show, check, create and add skills.

    A service worker decides which skills are offered. That depends on the programs, variables, settings and plugins of
    its host. If no service worker runs, this machine decides.
    """


@skills.command("list", epilog="Example: ocw skills list --all --json | jq '.skills[] | select(.offered | not)'")
@agent_option
@click.option("--all", "show_all", is_flag=True, help="Also those that are not offered, with the reason.")
@json_option
@pass_cli
def list_skills(cli: CliContext, agent_id: str | None, show_all: bool) -> None:
    """List the skills that an agent is offered."""
    answer = cli.backend.skills(agent_id, with_refused=show_all)
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (
            f"{each['emoji']} {each['name']}".strip(),
            each["source"],
            each["command"],
            f"not offered: {each['reason']}" if each["reason"] else _cut(each["description"]),
        )
        for each in answer["skills"]
    ]
    last = "FOR, OR WHY IT IS NOT OFFERED" if show_all else "FOR"
    click.echo(table(("SKILL", "FROM", "COMMAND", last), rows, cut=(last,)))
    _warn(answer)


@skills.command("show", epilog="Example: ocw skills show weather")
@click.argument("name")
@agent_option
@json_option
@pass_cli
def show(cli: CliContext, name: str, agent_id: str | None) -> None:
    """Show one skill: where it is, what it needs, and its text."""
    skill = cli.backend.skill(name, agent_id)
    if cli.json:
        echo_json(skill)
        return
    shown = {key: ", ".join(value) for key, value in skill["requires"].items()}
    click.echo(
        field_list(
            [
                ("name", skill["name"]),
                ("for", skill["description"]),
                ("from", f"{skill['source']}, {skill['path']}"),
                ("offered", "yes" if skill["offered"] else f"no: {skill['reason']}"),
                ("command", skill["command"]),
                *((f"needs {key}", value) for key, value in shown.items()),
                ("install", "\n".join(skill.get("install", ()))),
                ("homepage", skill.get("homepage", "")),
            ]
        )
    )
    click.echo(f"\n{printable(skill['text'])}")


@skills.command("check", epilog="Example: ocw skills check --json | jq '.problems[]'")
@agent_option
@json_option
@pass_cli
def check(cli: CliContext, agent_id: str | None) -> None:
    """Report files that are not usable skills, and skills in the configuration that do not exist."""
    answer = cli.backend.skill_check(agent_id)
    if cli.json:
        echo_json(answer)
    else:
        for each in answer["problems"]:
            click.echo(printable(f"{each['path']}: {each['why']}"))
        _warn(answer)
        if answer["ok"]:
            click.echo("all skills can be read")
    if not answer["ok"]:
        sys.exit(Exit.RUN_FAILED)


@skills.command("new", epilog="""Example: ocw skills new invoice-check --description "Check invoices." """)
@click.argument("name")
@click.option("--description", default="What it does, and when to use it.", help="What it does and when to use it.")
@agent_option
@click.option("--shared", is_flag=True, help="For all agents, in <state>/skills; else in the agent's workspace.")
@json_option
@pass_cli
def new(cli: CliContext, name: str, description: str, agent_id: str | None, shared: bool) -> None:
    """Create a skill with a SKILL.md to fill in."""
    answer = cli.backend.new_skill(name, description, agent_id, shared=shared)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['path']}\nfill it in, then run `ocw skills check`")


@skills.command("add", epilog="Example: ocw skills add skill.zip --agent work")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--agent", "agent_id", metavar="ID", help="Only for this agent, in its workspace; else for all.")
@click.option("--replace", is_flag=True, help="Replace a skill of the same name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_cli
def add(cli: CliContext, source: Path, agent_id: str | None, replace: bool, yes: bool) -> None:
    """Add skills from a folder or zip file, after showing what is in it.

    A skill is instructions that agents follow, and may contain programs that they run: read it first.
    """
    from openclaw_workers.skills.install import open_package

    with tempfile.TemporaryDirectory() as scratch:
        packages = open_package(source, Path(scratch))
        if not cli.json:
            for package in packages:
                _show_package(package)
        if not yes:
            if cli.json or not sys.stdin.isatty():
                # A script must say that somebody has read the skill: agents will follow it.
                raise BadInput("nothing was added", hint="look at what it contains, then repeat with --yes")
            click.confirm(f"Add for {f'agent {agent_id}' if agent_id else 'all agents'}?", abort=True)
        answer = cli.backend.add_skills(packages, agent_id, replace=replace)
    if cli.json:
        echo_json(answer)
    else:
        for each in answer["skills"]:
            click.echo(f"added {each['path']}")


def _warn(answer: dict[str, Any]) -> None:
    if answer["judgedBy"] is None:
        note = "no service worker answers; this machine decided which skills are offered, without those of plugins"
        click.echo(f"note: {note}", err=True)
    for warning in answer["warnings"]:
        click.echo(printable(f"warning: {warning}"), err=True)


def _show_package(package: Package) -> None:
    click.echo(printable(f"{package.skill.name}: {package.skill.description}"))
    rows = [(file.path, f"{file.size_bytes:,}", "program" if file.is_program else "") for file in package.files]
    click.echo(table(("FILE", "BYTES", ""), rows, right=["BYTES"]))


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_COLUMNS else text[: DESCRIPTION_COLUMNS - 1].rstrip() + "…"
