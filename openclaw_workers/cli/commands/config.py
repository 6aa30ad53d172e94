"""`ocw config`: check the configuration, see what is in force, and learn what could be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.output import report
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.config.not_in_effect import settings_not_in_effect
from openclaw_workers.config.schema_tree import dotted, leaves
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import ConfigurationError

EXIT_CONFIGURATION = 3  # a start with this configuration would be refused

_json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    # `ocw --json config show` means the same as `ocw config show --json`.
    callback=lambda ctx, _, value: value or getattr(ctx.obj, "json", False),
    help="Print JSON for programs.",
)


@click.group(
    "config",
    epilog="""\b
Examples:
  ocw config check                        is openclaw.yaml right?
  ocw --config other.yaml config show     every value, and where it came from
  ocw config show session                 only those below `session`
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
    """Say whether the configuration can be used, or everything that is wrong with it (exit code 3).

    What is set but not in effect yet is told too.
    """
    loaded = _load(ctx, as_json)
    if as_json:
        _print_json({"ok": True, "source": _source(loaded), "pending": loaded.not_in_effect})
        return
    click.echo(f"ok: {_source(loaded) or 'no configuration file, all defaults'}")
    for path, told in loaded.not_in_effect.items():
        click.echo(f"note: {path}: {told}", err=True)


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
    """Print every value with where it came from: default, file or environment. Secrets are hidden."""
    loaded = _load(ctx, as_json)
    idle = [place for place, _ in settings_not_in_effect(loaded.settings)]
    rows = [
        (path, leaf.value, loaded.origins[path], any(leaf.loc[: len(place)] == place for place in idle))
        for leaf in leaves(loaded.settings)
        if (path := dotted(leaf.loc)) == prefix or path.startswith((f"{prefix}.", f"{prefix}[") if prefix else "")
    ]
    if not rows:
        raise click.BadParameter(f"there is no setting {prefix!r}; `ocw config show` lists them all")
    if as_json:
        names = ("path", "value", "origin", "pending")
        values = [dict(zip(names, row, strict=True)) for row in rows]
        _print_json({"ok": True, "source": _source(loaded), "stateDir": str(loaded.state_dir), "values": values})
        return
    width = max(len(path) for path, *_ in rows)
    for path, value, origin, is_pending in rows:
        told = f"{origin}, not in effect yet" if is_pending else origin
        click.echo(f"{path:<{width}}  {json.dumps(value, ensure_ascii=False):<24}  {told}")


@config.command(
    epilog="""\b
Examples:
  ocw config schema > openclaw.schema.json
"""
)
@_json_option
def schema(as_json: bool) -> None:
    """Print the JSON Schema of the configuration file, for editors.

    It knows each setting in its own place and in camelCase; other spellings and the short places of OpenClaw's own
    documentation load all the same.
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
    """Print a file with every setting, its default and its reason."""
    if as_json:
        _print_json({"ok": True, "example": example()})
    else:
        click.echo(example(), nl=False)


def _load(ctx: click.Context, as_json: bool) -> Loaded:
    """Load as the other commands would; on problems print them all and leave with code 3."""
    state_dir = getattr(ctx.obj, "state_dir", None)
    try:
        return load(getattr(ctx.obj, "config_path", None), state_dir=Path(state_dir) if state_dir else None)
    except ConfigurationError as error:
        if as_json:
            facts = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
            _print_json({"ok": False, "source": error.source, "error": facts, "problems": error.problems})
        else:
            report(type(error).__name__, error.message, error.hint, as_json=False)
        ctx.exit(EXIT_CONFIGURATION)


def _source(loaded: Loaded) -> str | None:
    return str(loaded.source) if loaded.source else None


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
