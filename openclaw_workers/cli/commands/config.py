"""`ocw config`: check the configuration, show the values in use, and print an example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.output import Exit, report
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import ACCEPT_OPTION, Loaded, load
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import BadInput, ConfigurationError
from openclaw_workers.queries.config_answers import (
    check_answer,
    config_values,
    failed_check_answer,
    source_of,
    values_answer,
)

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
  ocw config example > openclaw.yaml      start from all defaults
""",
)
def config() -> None:
    """Check and show the configuration."""


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
    """Check the configuration and list every problem (exit code 3).

    Settings that are not in effect yet are listed too, and which of them stop a start.
    """
    loaded = _load(ctx, as_json)
    if as_json:
        _print_json(check_answer(loaded))
        return
    click.echo(f"ok: {source_of(loaded) or 'no configuration file, all defaults'}")
    for path, note in loaded.not_in_effect.items():
        click.echo(f"note: {path}: {note}", err=True)
    if loaded.unenforced:
        paths = ", ".join(loaded.unenforced)
        click.echo(f"note: `ocw up` and workers start with {paths} only if {ACCEPT_OPTION} is given", err=True)


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
    """Print every value and its origin: default, file or environment. Secrets are hidden."""
    loaded = _load(ctx, as_json)
    try:
        rows = config_values(loaded, prefix)
    except BadInput as error:
        raise click.BadParameter(error.message) from error
    if as_json:
        _print_json(values_answer(loaded, prefix))
        return
    width = max(len(row["path"]) for row in rows)
    for row in rows:
        source = f"{row['origin']}, not in effect yet" if row["pending"] else row["origin"]
        click.echo(f"{row['path']:<{width}}  {json.dumps(row['value'], ensure_ascii=False):<24}  {source}")


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
        return load(getattr(ctx.obj, "config_path", None), state_dir=Path(state_dir) if state_dir else None)
    except ConfigurationError as error:
        if as_json:
            _print_json(failed_check_answer(error))
        else:
            report(type(error).__name__, error.message, error.hint, as_json=False)
        ctx.exit(Exit.CONFIGURATION)


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
