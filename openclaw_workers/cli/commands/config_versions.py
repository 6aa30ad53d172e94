"""`ocw config apply`, `history` and `rollback`: the fleet's configuration and its versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age
from openclaw_workers.config.changes import SettingChange, changes_between
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.publication import draft
from openclaw_workers.engine.fleet_config import configs_of, load_version, publish, publish_again
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.queries.config_answers import apply_answer, history_answer

if TYPE_CHECKING:
    from openclaw_workers.store.configs import Configs, ConfigVersion, Published


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

    Without a file these are the defaults and what this environment says. Workers use it from their next turn on.
    The address of Redis, the namespace and the state directory stay those of each host, and no secret is sent:
    literal ones are moved to secrets.json in the state directory.
    """
    host = _host_of(cli, file)
    made = draft(host)
    configs = _configs(cli, host)
    before = configs.current()
    changes = changes_between(before.document.tree if before else {}, made.tree)
    published = None
    if not dry_run:
        published = publish(configs, made, expected=before.number if before else 0)
        _require_accepted(published)
    answer = apply_answer(before, published, changes, made)
    if cli.json:
        echo_json(answer)
    else:
        _print_applied(answer, changes, is_dry=dry_run)


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
    configs = _configs(cli, cli.host)
    current = configs.current()
    answer = history_answer(configs.history(), current.number if current else None)
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
@click.argument("version", required=False, type=click.IntRange(1))
@json_option
@pass_cli
def rollback(cli: CliContext, version: int | None) -> None:
    """Publish an earlier configuration again, as a version of its own."""
    configs = _configs(cli, cli.host)
    current = configs.current()
    if current is None:
        raise NotFound("no configuration is published", hint="`ocw config apply` publishes one")
    earlier = _earlier(configs, current, version)
    load_version(earlier, cli.host)
    published = publish_again(configs, earlier, expected=current.number)
    _require_accepted(published)
    changes = changes_between(current.document.tree, earlier.document.tree)
    answer = {**apply_answer(current, published, changes), "rolledBackTo": earlier.number}
    if cli.json:
        echo_json(answer)
    else:
        _print_applied(answer, changes, is_dry=False)


def _host_of(cli: CliContext, file: Path | None) -> Host:
    """Without a file, the defaults and what the environment says."""
    return cli.host if file is None else find_host(file, state_dir=cli.state_dir)


def _configs(cli: CliContext, host: Host) -> Configs:
    """Where configurations are: by the file in use; without one, by the file that is published."""
    return configs_of(cli.host if cli.host.source else host, cli.redis)


def _earlier(configs: Configs, current: ConfigVersion, wanted: int | None) -> ConfigVersion:
    if wanted is None:
        before = [each for each in configs.history() if each.number < current.number]
        found = before[0] if before else None
    else:
        found = configs.version(wanted)
    if found is None:
        missing = f"there is no configuration {wanted}" if wanted else "there is no earlier configuration"
        raise NotFound(missing, hint="`ocw config history` lists those that are kept")
    return found


def _require_accepted(published: Published) -> None:
    if published.is_refused:
        raise ConflictError(
            f"configuration {published.number} was published meanwhile", hint="look at it and run this again"
        )


def _print_applied(answer: dict[str, Any], changes: list[SettingChange], *, is_dry: bool) -> None:
    for change in answer["changes"]:
        click.echo(_line(change))
    for secret in answer["movedSecrets"]:
        click.echo(f"secret kept on this host: {secret} (in secrets.json of the state directory)")
    for path, names in answer["unset"].items():
        click.echo(f"note: {path} needs {', '.join(names)}, not set on this host", err=True)
    if is_dry:
        click.echo("nothing was published" if changes else "nothing would change")
    elif answer["published"]:
        click.echo(f"published configuration {answer['version']}")
    else:
        click.echo(f"configuration {answer['version']} is in force already")
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
