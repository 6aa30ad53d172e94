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
from openclaw_workers.config.resolve import agent_ids, resolve_agent_id
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.skills.json_forms import package_json, skill_json

if TYPE_CHECKING:
    from openclaw_workers.cli.skills_here import SkillsHere
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
@pass_cli
def skills(cli: CliContext) -> None:
    """List, show, check, begin and add skills.

    Skills are judged on this machine: which programs, variables and settings it has.
    """
    cli.require_local("`ocw skills`")


@skills.command("list", epilog="Example: ocw skills list --all --json | jq '.skills[] | select(.offered | not)'")
@agent_option
@click.option("--all", "show_all", is_flag=True, help="Also those that are not offered, with the reason.")
@json_option
@pass_cli
def list_skills(cli: CliContext, agent_id: str | None, show_all: bool) -> None:
    """List the skills that an agent is offered."""
    here = _here(cli)
    agent = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    found = [each for each in _all_json(here, agent) if show_all or each["offered"]]
    if cli.json:
        echo_json({"ok": True, "agentId": agent, "skills": found, "warnings": here.warnings([agent])})
        return
    rows = [
        (
            f"{each['emoji']} {each['name']}".strip(),
            each["source"],
            each["command"],
            f"not offered: {each['reason']}" if each["reason"] else _cut(each["description"]),
        )
        for each in found
    ]
    click.echo(table(("SKILL", "FROM", "COMMAND", "FOR, OR WHY IT IS NOT OFFERED" if show_all else "FOR"), rows))
    for warning in here.warnings([agent]):
        click.echo(printable(f"warning: {warning}"), err=True)


@skills.command("show", epilog="Example: ocw skills show weather")
@click.argument("name")
@agent_option
@json_option
@pass_cli
def show(cli: CliContext, name: str, agent_id: str | None) -> None:
    """Show one skill: where it is, what it needs, and its text."""
    agent = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    found = {each["name"]: each for each in _all_json(_here(cli), agent)}
    if name not in found:
        raise NotFound(
            f"no skill {name!r} of agent {agent}", hint=did_you_mean(name, found) or "`ocw skills list --all`"
        )
    skill = found[name]
    text = Path(skill["path"]).read_text(encoding="utf-8", errors="replace")
    if cli.json:
        echo_json({"ok": True, "agentId": agent, **skill, "text": text})
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
    click.echo(f"\n{printable(text)}")


@skills.command("check", epilog="Example: ocw skills check --json | jq '.problems[]'")
@agent_option
@json_option
@pass_cli
def check(cli: CliContext, agent_id: str | None) -> None:
    """Report files that are no usable skills, and configured names that no skill has."""
    settings, here = cli.loaded.settings, _here(cli)
    agents = [resolve_agent_id(settings, explicit=agent_id)] if agent_id else agent_ids(settings)
    problems = here.problems(agents)
    warnings = here.warnings(agents)
    if cli.json:
        echo_json({"ok": not problems, "problems": problems, "warnings": warnings})
    else:
        for each in problems:
            click.echo(printable(f"{each['path']}: {each['why']}"))
        for warning in warnings:
            click.echo(printable(f"warning: {warning}"), err=True)
        if not problems:
            click.echo("all skills can be read")
    if problems:
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
    from openclaw_workers.skills.install import create

    path = create(name, " ".join(description.split()), _target(cli, agent_id, shared=shared))
    if cli.json:
        echo_json({"ok": True, "name": name, "path": str(path)})
    else:
        click.echo(f"{path}\nfill it in, then run `ocw skills check`")


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
    from openclaw_workers.skills.install import install, open_package

    root = _target(cli, agent_id, shared=agent_id is None)
    with tempfile.TemporaryDirectory() as scratch:
        packages = open_package(source, Path(scratch))
        if not cli.json:
            for package in packages:
                _show_package(package)
        if not yes:
            if cli.json or not sys.stdin.isatty():
                raise BadInput("nothing was added", hint="look at what it contains, then repeat with --yes")
            click.confirm(f"Add to {root}?", abort=True)
        paths = [install(package, root, replace=replace) for package in packages]
    if cli.json:
        added = [{**package_json(each), "path": str(path)} for each, path in zip(packages, paths, strict=True)]
        echo_json({"ok": True, "skills": added})
    else:
        for path in paths:
            click.echo(f"added {path}")


def _here(cli: CliContext) -> SkillsHere:
    from openclaw_workers.cli.skills_here import SkillsHere

    return SkillsHere(cli.loaded)


def _all_json(here: SkillsHere, agent: str) -> list[dict[str, Any]]:
    found = here.of_agent(agent)
    commands = {each.skill: each.name for each in found.commands}
    reasons = {skill.name: reason for skill, reason in found.refused}
    every = [*found.skills, *(skill for skill, _ in found.refused)]
    return [
        skill_json(
            skill,
            reason=reasons.get(skill.name, ""),
            command=commands.get(skill.name, ""),
            location=here.location(skill, agent),
        )
        for skill in sorted(every, key=lambda skill: skill.name)
    ]


def _target(cli: CliContext, agent_id: str | None, *, shared: bool) -> Path:
    if shared:
        return cli.loaded.state_dir / "skills"
    return _here(cli).workspace(resolve_agent_id(cli.loaded.settings, explicit=agent_id)) / "skills"


def _show_package(package: Package) -> None:
    click.echo(printable(f"{package.skill.name}: {package.skill.description}"))
    rows = [(file.path, f"{file.size_bytes:,}", "program" if file.is_program else "") for file in package.files]
    click.echo(table(("FILE", "BYTES", ""), rows, right=["BYTES"]))


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_COLUMNS else text[: DESCRIPTION_COLUMNS - 1].rstrip() + "…"
