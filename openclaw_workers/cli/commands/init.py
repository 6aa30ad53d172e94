"""`ocw init`: from nothing to the first answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.invocation import typed
from openclaw_workers.cli.output import Dollars, Exit, echo_json, json_option, leave
from openclaw_workers.cli.setup import first_steps
from openclaw_workers.cli.setup.answers import PROVIDERS, SetupAnswers
from openclaw_workers.cli.setup.files import (
    add_to_env,
    agents_file,
    check_config,
    config_text,
    env_names,
    replace_file,
    write_agents_file,
)
from openclaw_workers.cli.setup.questions import GivenAnswers, Questions, is_person
from openclaw_workers.config.host import Host
from openclaw_workers.config.locate import find_file, find_state_dir, working_dir
from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.state_dir import prepare_state_dir
from openclaw_workers.views.answers import Answer

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command(
    epilog="""\b
Examples:
  ocw init
  ocw init --provider none --yes
  ocw init --provider openai --api-key-file key.txt --model gpt-5 --daily-limit 2 --yes --no-start
It never asks for a key on the command line, where others could read it: a key is typed unseen, read from a file,
or taken from ANTHROPIC_API_KEY, OPENAI_API_KEY or TELEGRAM_BOT_TOKEN.
"""
)
@click.option("--provider", type=click.Choice(PROVIDERS), help="Whose models answer; none: the small built-in one.")
@click.option("--api-key-file", type=_FILE, help="File with the provider's key; - reads stdin.")
@click.option("--model", metavar="NAME", help="Which model answers.")
@click.option(
    "--daily-limit",
    type=Dollars(),
    metavar="DOLLARS",
    help="Stop calling models after this many dollars a day; 0: no limit; default: 5.",
)
@click.option("--telegram-token-file", type=_FILE, help="File with the token of a Telegram bot; - reads stdin.")
@click.option("--yes", is_flag=True, help="Ask nothing: take the defaults for what is not given.")
@click.option("--replace", is_flag=True, help="With --yes: replace an existing configuration and keys.")
@click.option("--no-start", is_flag=True, help="Only write the files.")
@json_option
@pass_cli
def init(
    cli: CliContext,
    *,
    provider: str | None,
    api_key_file: Path | None,
    model: str | None,
    daily_limit: float | None,
    telegram_token_file: Path | None,
    yes: bool,
    replace: bool,
    no_start: bool,
) -> None:
    """Set up an installation, start it and get the first answer.

    It asks for a key, a model, a daily spending limit and a Telegram bot, and writes openclaw.yaml, .env and AGENTS.md.
    """
    if not yes and (cli.json or not is_person()):
        raise BadInput("nobody can be asked here", hint="add --yes, and options for what should not be the default")
    given = GivenAnswers(
        provider=provider,
        api_key_file=api_key_file,
        model=model,
        daily_limit=daily_limit,
        telegram_token_file=telegram_token_file,
        asks=not yes,
    )
    host = _host(cli)
    assert host.source is not None
    prepare_state_dir(host.state_dir)
    may_replace = _Replacing(asks=not yes, is_allowed=replace)
    # Asked first, so that nobody answers all questions in vain.
    may_replace.check(host.source, host.source.exists())
    answers = Questions(given, host.env).ask()
    for name in sorted(env_names(host.state_dir) & answers.secrets.keys()):
        may_replace.check(f"{name} in {host.state_dir / '.env'}", True)
    written = _write(host, answers)
    # From now on, this command works with the new file.
    cli.config_path = str(host.source)
    _finish(cli, answers, written, starts=not no_start and (yes or _confirmed("Start it now?")), asks=not yes)


def _host(cli: CliContext) -> Host:
    """The place of the new configuration: the file that is named or in use, or one in the state directory."""
    cwd = working_dir().absolute()
    state_dir = find_state_dir(cli.state_dir, os.environ, cwd)
    named = cli.config_path or os.environ.get("OPENCLAW_CONFIG")
    source = cwd / Path(named).expanduser() if named else find_file(None, {}, cwd=cwd, state_dir=state_dir)
    source = source or state_dir / "openclaw.yaml"
    if source.suffix not in (".yaml", ".yml"):
        raise BadInput(f"{source} is not YAML", hint="name another file with --config")
    return Host(os.environ, state_dir, source)


class _Replacing:
    """Nothing that exists is replaced unless somebody says so."""

    def __init__(self, *, asks: bool, is_allowed: bool) -> None:
        self._asks = asks
        self._is_allowed = is_allowed

    def check(self, what: object, exists: bool) -> None:
        if not exists or self._is_allowed:
            return
        if not (self._asks and _confirmed(f"{what} exists. Replace it?", default=False)):
            raise ConflictError(f"{what} exists already", hint="`ocw config set` changes it; --replace replaces it")


def _write(host: Host, answers: SetupAnswers) -> list[Path]:
    """Check the configuration, then write it with the keys. Returns the files that were written."""
    assert host.source is not None
    text = config_text(answers)
    # Before the first write, so that a mistake leaves nothing half done.
    loaded = check_config(text, host, answers.secrets)
    written = [add_to_env(host.state_dir, answers.secrets)] if answers.secrets else []
    replace_file(host.source, text, 0o644)
    agents = agents_file(loaded)
    return [*written, host.source, *([agents] if write_agents_file(agents) else [])]


def _finish(cli: CliContext, answers: SetupAnswers, written: list[Path], *, starts: bool, asks: bool) -> None:
    for path in written if not cli.json else ():
        click.echo(f"wrote {path}")
    answer = address = None
    if starts:
        if not cli.json:
            click.echo("Starting …", err=True)
        first_steps.start(cli)
        answer = first_steps.first_answer(cli)
        address = first_steps.bot_address(cli) if answers.with_telegram else None
    if cli.json:
        echo_json(_json(answers, written, starts, answer, address))
    elif starts:
        is_paired = answers.with_telegram and asks and first_steps.pair(cli, address) is not None
        _say_next(cli, answers, address, is_paired=is_paired)
    else:
        click.echo(f"Next:  {typed('up', cli.host)}")
    leave(Exit.RUN_FAILED if answer is not None and answer.error else Exit.OK)


def _say_next(cli: CliContext, answers: SetupAnswers, address: str | None, *, is_paired: bool) -> None:
    click.echo(f"Next:     {typed('chat', cli.host)}")
    if answers.with_telegram:
        click.echo(f"Telegram: {address or 'not reached yet; `ocw channels status` shows why'}")
    if answers.with_telegram and not is_paired:
        click.echo(f"To pair:  {typed('pairing list', cli.host)}")
    click.echo(f"To stop:  {typed('down', cli.host)}")


def _json(
    answers: SetupAnswers, written: list[Path], starts: bool, answer: Answer | None, address: str | None
) -> dict[str, Any]:
    return {
        "ok": answer is None or answer.error is None,
        "files": [str(path) for path in written],
        "model": answers.model,
        "dailyLimit": answers.daily_limit,
        "telegram": answers.with_telegram,
        "botAddress": address,
        "started": starts,
        "text": answer.text if answer else None,
        "error": answer.error if answer else None,
    }


def _confirmed(question: str, *, default: bool = True) -> bool:
    return click.confirm(question, default=default, err=True)
