"""`ocw config`: check the configuration, show the values in use, and print an example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from openclaw_workers.cli.commands.config_values import get, set_value
from openclaw_workers.cli.commands.config_versions import apply, history, rollback
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import Exit, report
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import BadInput, ConfigurationError
from openclaw_workers.queries.config_answers import (
    check_answer,
    failed_check_answer,
    values_answer,
)

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.remote import RemoteBackend

_json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    # `ocw --json config show` means the same as `ocw config show --json`.
    callback=lambda ctx, _, value: value or getattr(ctx.obj, "json", False),
    help="Answer in JSON.",
)


@click.group(
    "config",
    epilog="""\b
Examples:
  ocw config check                        check openclaw.yaml
  ocw --config other.yaml config show     every value, and where it came from
  ocw config show session                 only the values below `session`
  ocw config set budgets.day.cost 5       change one setting of the file
  ocw config example > openclaw.yaml      start from all defaults
  ocw config apply                        publish openclaw.yaml for the whole fleet
  ocw config rollback                     back to the version before
""",
)
def config() -> None:
    """Check, show, change and publish the configuration, and go back to an earlier one."""


for _command in (apply, get, history, rollback, set_value):
    config.add_command(_command)


@config.command(
    epilog="""\b
Examples:
  ocw config check
  OPENCLAW_CONFIG=prod.yaml ocw config check --json
"""
)
@_json_option
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Check the configuration and list every problem (exit code 3)."""
    answer = _checked(ctx)
    if not answer["ok"]:
        _fail(ctx, answer, as_json)
    if as_json:
        _print_json(answer)
        return
    click.echo(f"ok: {answer['source'] or 'no configuration file, all defaults'}")
    cli = ctx.find_object(CliContext)
    for warning in cli.backend.skill_check(None)["warnings"] if cli else ():
        click.echo(f"note: {warning}", err=True)


@config.command(
    epilog="""\b
Examples:
  ocw config show
  ocw config show agents.defaults
  ocw config show --json
"""
)
@click.argument("prefix", default="")
@_json_option
@click.pass_context
def show(ctx: click.Context, prefix: str, as_json: bool) -> None:
    """Print every current value and where it comes from. Secrets are hidden.

    These are the published values. If none are published, or with --local-config, they are those of the file.
    """
    backend = _remote(ctx)
    try:
        answer = backend.config(prefix) if backend else values_answer(_load(ctx, as_json), prefix)
    except BadInput as error:
        raise click.BadParameter(error.message) from error
    if as_json:
        _print_json(answer)
        return
    rows = answer["values"]
    width = max(len(row["path"]) for row in rows)
    for row in rows:
        click.echo(f"{row['path']:<{width}}  {json.dumps(row['value'], ensure_ascii=False):<24}  {row['origin']}")


@config.command(
    epilog="""\b
Examples:
  ocw config schema > openclaw.schema.json
"""
)
@_json_option
def schema(as_json: bool) -> None:
    """Print the JSON Schema of the configuration file, for editors.

    It lists each setting under its full path in camelCase. Other spellings and the shorthand paths of OpenClaw's
    documentation are accepted as well.
    """
    indent = None if as_json else 2
    click.echo(json.dumps(Settings.model_json_schema(by_alias=True), indent=indent, ensure_ascii=False))


@config.command(
    "example",
    epilog="""\b
Examples:
  ocw config example > openclaw.yaml
""",
)
@_json_option
def print_example(as_json: bool) -> None:
    """Print a file with every setting, its default and an explanation."""
    if as_json:
        _print_json({"ok": True, "example": example()})
    else:
        click.echo(example(), nl=False)


def _load(ctx: click.Context, as_json: bool) -> Loaded:
    """Load as other commands do. On problems, print all of them and exit with code 3."""
    state_dir = getattr(ctx.obj, "state_dir", None)
    try:
        if isinstance(ctx.obj, CliContext):
            return ctx.obj.loaded
        return load(getattr(ctx.obj, "config_path", None), state_dir=Path(state_dir) if state_dir else None)
    except ConfigurationError as error:
        _fail(ctx, failed_check_answer(error), as_json)


def _fail(ctx: click.Context, answer: dict[str, Any], as_json: bool) -> NoReturn:
    error = answer["error"]
    if as_json:
        _print_json(answer)
    else:
        report(error["type"], error["message"], error["hint"], as_json=False)
    ctx.exit(Exit.CONFIGURATION)


def _checked(ctx: click.Context) -> dict[str, Any]:
    """What a check finds: of the file in use, or of the one that --config names."""
    given, state_dir = getattr(ctx.obj, "config_path", None), getattr(ctx.obj, "state_dir", None)
    if (backend := _remote(ctx)) is not None:
        return backend.check_config(Path(given) if given else None)
    try:
        return check_answer(load(given, state_dir=Path(state_dir) if state_dir else None))
    except ConfigurationError as error:
        return failed_check_answer(error)


def _remote(ctx: click.Context) -> RemoteBackend | None:
    """The installation that OPENCLAW_URL names; None for the configuration of this machine."""
    cli = ctx.find_object(CliContext)
    if cli is None or cli.remote is None:
        return None
    from openclaw_workers.cli.backend.remote import RemoteBackend

    assert isinstance(cli.backend, RemoteBackend)
    return cli.backend


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
