"""How every command answers: exit codes, errors and JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from openclaw_workers.cli.render.text import styled
from openclaw_workers.client.deadline import WaitOver
from openclaw_workers.errors import (
    AccessDenied,
    BadInput,
    ConfigurationError,
    ConflictError,
    NotFound,
    OpenClawError,
    TransientError,
)
from openclaw_workers.views.errors import problem_json


class Exit(IntEnum):
    """Exit codes; docs/cli.md promises them."""

    OK = 0
    RUN_FAILED = 1  # the run failed, was stopped or timed out, or its message was cancelled; look at the run
    USAGE = 2  # a wrong option, argument or value; click uses the same code
    CONFIGURATION = 3  # the configuration is not valid
    STORE = 4  # Redis does not answer, or no Redis is known; trying again later may work
    NOT_FOUND = 5  # no such session, run or agent
    REFUSED = 6  # busy, full, already ended, or not allowed with this token
    INTERNAL = 70  # a bug in this program; EX_SOFTWARE of sysexits.h
    OUTPUT = 74  # the disk is full; EX_IOERR of sysexits.h
    WAIT_OVER = 124  # --timeout is over and the run continues; the code of timeout(1)
    INTERRUPTED = 130  # Ctrl-C; 128 + SIGINT, as in a shell


class StartFailed(OpenClawError):
    """`ocw up` in the background ended before it was ready; its exit code is passed on."""

    def __init__(self, message: str, code: int, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        # Python itself exits with 1 if it cannot start; a negative code is a signal.
        self.exit = Exit(code) if code in list(Exit) and code != Exit.RUN_FAILED else Exit.INTERNAL


# The first match counts, so a subclass comes before its base.
_CODES: tuple[tuple[type[OpenClawError], Exit], ...] = (
    (ConfigurationError, Exit.CONFIGURATION),
    (NotFound, Exit.NOT_FOUND),
    (BadInput, Exit.USAGE),
    (TransientError, Exit.STORE),
    (ConflictError, Exit.REFUSED),
    (AccessDenied, Exit.REFUSED),
    (WaitOver, Exit.WAIT_OVER),
)


def exit_code(error: OpenClawError) -> Exit:
    if isinstance(error, StartFailed):
        return error.exit
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.RUN_FAILED)


class Seconds(click.FloatRange):
    """A finite number of seconds."""

    name = "number of seconds"

    def __init__(self) -> None:
        # Ten years; more would overflow later calculations.
        super().__init__(0, 10 * 366 * 86_400)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return float(seconds)


class WholeNumber(click.IntRange):
    name = "whole number"  # errors say it; click's own name is "integer range"


class Dollars(click.FloatRange):
    name = "amount in dollars"

    def __init__(self) -> None:
        super().__init__(0, 1_000_000)


COUNT = WholeNumber(1, 10**9)
"""A positive count that Redis and Python's itertools accept."""


def leave(code: int) -> NoReturn:
    raise click.exceptions.Exit(code)


F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json` after the command, with the same meaning as before it."""
    option = click.option("--json", is_flag=True, expose_value=False, callback=answer_in_json, help="Answer in JSON.")
    return option(command)


def not_empty(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse a value that was given and is empty: an unset variable in a script would otherwise mean the default."""
    if not value.strip() and ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it is empty; leave the option out for the default", ctx, param)
    return value


def answer_in_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.obj.json = True


def echo_json(value: object) -> None:
    """Print JSON on one line, so that several answers can be read line by line."""
    # Other scripts stay readable, as in the text output.
    click.echo(json.dumps(value, ensure_ascii=False))


def report(kind: str, message: str, hint: str | None, *, as_json: bool) -> None:
    """Report a failure: as JSON on stdout, or as text on stderr."""
    if as_json:
        echo_json({"ok": False, "error": problem_json(kind, message, hint)})
        return
    click.echo(f"{styled('error:', sys.stderr, fg='red')} {message}", err=True)
    if hint:
        click.echo(f"{styled('hint:', sys.stderr, fg='cyan')} {hint}", err=True)


def report_left_out(count: int) -> None:
    """Say on stderr that damaged records are missing from a list."""
    if count:
        records = f"{count} damaged record{' was' if count == 1 else 's were'}"
        click.echo(f"{records} left out and quarantined; `ocw status --damaged` lists them", err=True)
