"""The questions of `ocw init`. An option that was given is not asked; with `--yes`, nothing is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from openclaw_workers.cli.keyboard import read_stdin
from openclaw_workers.cli.output import Dollars
from openclaw_workers.cli.setup.answers import (
    DAILY_LIMIT,
    OFFLINE,
    PROVIDERS,
    TELEGRAM_VARIABLE,
    SetupAnswers,
    check_secret,
    check_telegram_token,
    default_model_of,
    full_model,
    key_variable,
)
from openclaw_workers.errors import BadInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswers:
    """The options of the command; None where one is not given."""

    provider: str | None
    api_key_file: Path | None
    model: str | None
    daily_limit: float | None
    telegram_token_file: Path | None
    asks: bool
    """False: take the defaults for what is not given."""


class Questions:
    def __init__(self, given: GivenAnswers, env: Mapping[str, str]) -> None:
        """`env` are the variables that this host has already."""
        self._given = given
        self._env = env

    def ask(self) -> SetupAnswers:
        """
        Raises:
            BadInput: an answer cannot be used, or one is missing and nothing may be asked.
        """
        provider = self._provider()
        secrets = self._key(provider)
        model = self._model(provider)
        limit = self._limit(provider)
        token = self._telegram()
        with_telegram = token is not None or bool(self._env.get(TELEGRAM_VARIABLE))
        return SetupAnswers(
            provider, model, limit, {**secrets, **({TELEGRAM_VARIABLE: token} if token else {})}, with_telegram
        )

    def _provider(self) -> str:
        if self._given.provider:
            return self._given.provider
        with_key = [each for each in PROVIDERS if self._env.get(key_variable(each))]
        # With --yes and without a key, the built-in model answers, so that the command succeeds.
        default = with_key[0] if with_key else PROVIDERS[0] if self._given.asks else OFFLINE
        if not self._given.asks:
            return default
        click.echo("Whose models shall answer? `none` needs no key: a small built-in model answers.", err=True)
        return str(click.prompt("Provider", type=click.Choice(PROVIDERS), default=default, err=True))

    def _key(self, provider: str) -> dict[str, str]:
        """The key, if it has to be kept."""
        variable = key_variable(provider)
        if self._given.api_key_file is not None:
            return {variable: check_secret("the key", _read(self._given.api_key_file))}
        if provider == OFFLINE:
            return {}
        if self._env.get(variable):
            click.echo(f"{variable} is set already.", err=True)
            return {}
        if not self._given.asks:
            hint = f"set {variable}, or name a file with --api-key-file (- reads stdin)"
            raise BadInput(f"{provider} needs a key", hint=hint)
        return {variable: _until_right(lambda: check_secret("the key", _hidden(f"API key of {provider}")))}

    def _model(self, provider: str) -> str:
        if self._given.model:
            return full_model(provider, self._given.model)
        default = default_model_of(provider)
        if not self._given.asks or provider == OFFLINE:
            return default
        return _until_right(lambda: full_model(provider, click.prompt("Model", default=default, err=True)))

    def _limit(self, provider: str) -> float | None:
        if self._given.daily_limit is not None:
            return self._given.daily_limit or None
        if provider == OFFLINE:
            return None
        if not self._given.asks:
            return DAILY_LIMIT
        question = "Stop calling models after this many dollars a day (0: no limit)"
        # 0 means no limit here, but no calls at all in the configuration.
        return float(click.prompt(question, type=Dollars(), default=DAILY_LIMIT, err=True)) or None

    def _telegram(self) -> str | None:
        if self._given.telegram_token_file is not None:
            return check_telegram_token(_read(self._given.telegram_token_file))
        if not self._given.asks or self._env.get(TELEGRAM_VARIABLE):
            return None
        return _until_right(_ask_telegram)


def _ask_telegram() -> str | None:
    given = _hidden("Token of a Telegram bot, from @BotFather (empty: no Telegram)", may_be_empty=True)
    return check_telegram_token(given) if given.strip() else None


def _hidden(question: str, *, may_be_empty: bool = False) -> str:
    default = "" if may_be_empty else None
    return str(click.prompt(question, hide_input=True, default=default, show_default=False, err=True))


def _until_right(ask: Callable[[], T]) -> T:
    while True:
        try:
            return ask()
        except BadInput as error:
            click.echo(f"{error.message}{f'; {error.hint}' if error.hint else ''}", err=True)


def _read(path: Path) -> str:
    if str(path) == "-":
        return read_stdin()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"{path} cannot be read: {reason}") from error


def is_person() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()
