"""`ocw config apply`, `history` and `rollback`: the fleet's configuration and its versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import WholeNumber, echo_json, json_option
from openclaw_workers.cli.render.text import age


@click.command(
    epilog="""\b
Examples:
  ocw config apply                    publish openclaw.yaml
  ocw config apply prod.yaml --dry-run
  ocw config apply --json | jq .version
"""
)
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dry-run", is_flag=True, help="Check the file and show what would change.")
@json_option
@pass_cli
def apply(cli: CliContext, file: Path | None, dry_run: bool) -> None:
    """Publish a configuration file for the whole fleet, and show what changes.

    Without a file, it publishes the defaults and what this environment says. Workers use it from their next turn on.
    The address of Redis, the namespace and the state directory stay those of each host, and no secret is sent:
    literal ones are moved to secrets.json in the state directory.

    With OPENCLAW_URL, a file that holds secrets is refused; without a file, the one in use there is published.
    """
    given = file or (Path(cli.config_path) if cli.config_path else None)
    answer = cli.backend.publish_config(given, is_dry=dry_run)
    if cli.json:
        echo_json(answer)
    else:
        _print_applied(cli, answer, is_dry=dry_run)


@click.command(
    epilog="""\b
Examples:
  ocw config history
  ocw config history --json | jq '.versions[0].changes'
"""
)
@json_option
@pass_cli
def history(cli: CliContext) -> None:
    """List the published configurations, newest first, with what each has changed."""
    answer = cli.backend.config_history()
    if cli.json:
        echo_json(answer)
        return
    for row in answer["versions"]:
        mark = "*" if row["inForce"] else " "
        note = f"  {row['note']}" if row["note"] else ""
        click.echo(f"{mark} {row['version']:>4}  {age(row['at'])}  by {row['by']}{note}")
        for change in row["changes"]:
            click.echo(f"        {_line(change)}")
    if not answer["versions"]:
        click.echo("no configuration is published; `ocw config apply` publishes one")


@click.command(
    epilog="""\b
Examples:
  ocw config rollback          back to the version before the current one
  ocw config rollback 3
"""
)
@click.argument("version", required=False, type=WholeNumber(1))
@json_option
@pass_cli
def rollback(cli: CliContext, version: int | None) -> None:
    """Publish an earlier configuration again, as a new version."""
    answer = cli.backend.roll_back_config(version)
    if cli.json:
        echo_json(answer)
    else:
        _print_applied(cli, answer, is_dry=False)


def _print_applied(cli: CliContext, answer: dict[str, Any], *, is_dry: bool) -> None:
    for change in answer["changes"]:
        click.echo(_line(change))
    for secret in answer["movedSecrets"]:
        click.echo(f"secret kept on this host: {secret} (in secrets.json of the state directory)")
    cli.report_unset(answer["unset"])
    if is_dry:
        click.echo("nothing was published" if answer["changes"] else "nothing would change")
    elif answer["published"]:
        click.echo(f"published configuration {answer['version']}")
    else:
        click.echo(f"configuration {answer['version']} is already in use")
    if answer["restart"]:
        click.echo(f"in use after a restart of workers or ingress: {', '.join(answer['restart'])}")


def _line(change: dict[str, Any]) -> str:
    before, after = change["before"], change["after"]
    restart = "  (needs a restart)" if change["needsRestart"] else ""
    if before is None:
        return f"+ {change['path']}: {_text(after)}{restart}"
    if after is None:
        return f"- {change['path']}: {_text(before)}{restart}"
    return f"~ {change['path']}: {_text(before)} -> {_text(after)}{restart}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
