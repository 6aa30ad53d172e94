"""`ocw config get` and `set`: one setting."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.keyboard import read_stdin
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.setup.files import replace_file
from openclaw_workers.config.changes import SettingChange
from openclaw_workers.config.file_edit import parse_path, set_in_text
from openclaw_workers.config.files import parse_yaml
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.loader import Loaded, load_file
from openclaw_workers.config.schema_tree import dotted, leaves
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.fleet_config import in_force
from openclaw_workers.errors import BadInput, ConfigurationError, NotFound, StoreUnavailable
from openclaw_workers.queries.config_answers import config_values, values_answer
from openclaw_workers.state_dir import running_pid

PUBLISH_SECONDS = 4.0
"""A running `ocw up` publishes a changed file within two seconds."""


@click.command(
    epilog="""\b
Examples:
  ocw config get budgets.day.cost
  ocw config get agents.defaults.model
"""
)
@click.argument("path")
@json_option
@pass_cli
def get(cli: CliContext, path: str) -> None:
    """Print the current value of a setting, or of all settings below a path. Secrets are hidden."""
    parse_path(path)
    answer = _values_in_force(cli, path)
    if cli.json:
        echo_json(answer)
        return
    rows = answer["values"]
    for row in rows:
        name = "" if row["path"] == path else f"{row['path']}: "
        click.echo(f"{name}{_text(row['value'])}")


@click.command(
    "set",
    epilog="""\b
Examples:
  ocw config set budgets.day.cost 5
  ocw config set agents.defaults.model.primary openai/gpt-5
  ocw config set session.resetTriggers '["/new", "/fresh"]'
  ocw config set models.providers.openai.apiKey - < key.txt
The file keeps its comments. VALUE is YAML; - reads it from stdin.
""",
)
@click.argument("path")
@click.argument("value")
@json_option
@pass_cli
def set_value(cli: CliContext, path: str, value: str) -> None:
    """Change one setting in the configuration file, if the result is valid."""
    cli.require_local("`ocw config set`", "changes a file of this machine")
    loc = parse_path(path)
    source = (cli.host.source or cli.host.state_dir / "openclaw.yaml").resolve()  # a link stays one
    if source.suffix not in (".yaml", ".yml"):
        raise BadInput(f"only YAML files can be changed, not {source}", hint="edit the file, then `ocw config check`")
    text = source.read_text(encoding="utf-8-sig") if source.exists() else ""
    before = load_file(cli.host, allows_unset=True)
    changed = set_in_text(text, loc, parse_yaml(read_stdin().strip() if value == "-" else value))
    after = _checked(changed, cli.host, source)
    # Only after the check, and with the permissions that the file has.
    replace_file(source, changed, source.stat().st_mode & 0o777 if source.exists() else 0o644)
    answer = _set_answer(path, source, _shown(before, path), _shown(after, path), _effect(cli, path, source))
    if cli.json:
        echo_json(answer)
    else:
        _print_set(answer)


def _values_in_force(cli: CliContext, path: str) -> dict[str, Any]:
    if cli.remote is not None:
        from openclaw_workers.cli.backend.remote import RemoteBackend

        assert isinstance(cli.backend, RemoteBackend)
        return cli.backend.config(path)
    try:
        return values_answer(cli.loaded, path)
    except BadInput as error:
        known = [dotted(leaf.loc) for leaf in leaves(cli.loaded.settings)]
        hint = did_you_mean(path, known, cutoff=0.8) or "`ocw config show` lists them all"
        raise BadInput(f"no setting {path!r}", hint=hint) from error


def _checked(text: str, host: Host, source: Path) -> Loaded:
    """What the file will mean.

    Raises:
        ConfigurationError: it is not valid.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.name
        path.write_text(text, encoding="utf-8")
        try:
            found = find_host(path, env=host.given, state_dir=host.state_dir)
            return load_file(found, allows_unset=True)
        except ConfigurationError as error:
            hint = "nothing was changed"
            raise ConfigurationError(error.problems, source=str(source), hint=hint) from error


def _shown(loaded: Loaded, path: str) -> Any:
    """The value below a path, as it may be shown; None if there is none."""
    try:
        rows = config_values(loaded, path)
    except BadInput:
        return None
    if len(rows) == 1 and rows[0]["path"] == path:
        return rows[0]["value"]
    return {row["path"].removeprefix(path).lstrip("."): row["value"] for row in rows if row["origin"] != "default"}


@dataclass(frozen=True, slots=True)
class _Effect:
    version: int | None
    """The configuration with which it is in force."""
    needs_restart: bool
    advice: str


def _effect(cli: CliContext, path: str, source: Path) -> _Effect:
    """Whether the changed file is in force."""
    needs_restart = SettingChange(path, None, None).needs_restart
    host = find_host(source, env=cli.host.given, state_dir=cli.host.state_dir)
    # Only an `ocw up` with its own Redis publishes its file by itself.
    is_published = running_pid(host.state_dir) is not None and host.redis_url is None
    try:
        version = _published(cli, host, PUBLISH_SECONDS if is_published else 0)
    except (NotFound, StoreUnavailable):
        return _Effect(None, needs_restart, "it is used when `ocw up` or a worker starts")
    if version is None:
        return _Effect(None, needs_restart, "not in effect yet: `ocw config apply` publishes it")
    later = ", after a restart of workers or ingress" if needs_restart else ""
    return _Effect(version, needs_restart, f"in effect with configuration {version}{later}")


def _published(cli: CliContext, host: Host, seconds: float) -> int | None:
    """The number of the published configuration, if it says what the file says."""
    deadline = time.monotonic() + seconds
    while True:
        found = in_force(host.as_it_is_now(), cli.redis)
        if found.version is not None and not found.differs:
            return found.version.number
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.1)


def _set_answer(path: str, source: Path, before: Any, after: Any, effect: _Effect) -> dict[str, Any]:
    return {
        "ok": True,
        "path": path,
        "source": str(source),
        "before": before,
        "after": after,
        "version": effect.version,
        "needsRestart": effect.needs_restart,
        "note": effect.advice,
    }


def _print_set(answer: dict[str, Any]) -> None:
    click.echo(f"{answer['source']}:")
    if answer["before"] != answer["after"]:
        click.echo(f"- {answer['path']}: {json.dumps(answer['before'], ensure_ascii=False)}")
    click.echo(f"+ {answer['path']}: {json.dumps(answer['after'], ensure_ascii=False)}")
    click.echo(answer["note"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
