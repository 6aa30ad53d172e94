"""How every command answers: exit codes, errors, JSON, and text that lines up."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, NoReturn, TextIO, TypeVar

import click

from openclaw_workers.errors import (
    BadInput,
    ConfigurationError,
    ConflictError,
    NotFound,
    OpenClawError,
    TransientError,
)


class Exit(IntEnum):
    """Exit codes; docs/cli.md promises them."""

    OK = 0
    RUN_FAILED = 1  # the run failed, was stopped or timed out, or its message was cancelled; look at the run
    USAGE = 2  # what was typed cannot be done as typed; the code that click uses too
    CONFIGURATION = 3  # no command would start with this configuration
    STORE = 4  # Redis does not answer, or is not known; trying later may work
    NOT_FOUND = 5  # no such session, run or agent
    REFUSED = 6  # busy, full, or already ended; trying later, or nothing, is the answer
    INTERNAL = 70  # a fault of this program; EX_SOFTWARE of sysexits.h
    OUTPUT = 74  # the disk is full; EX_IOERR of sysexits.h
    WAIT_OVER = 124  # --timeout is over and the run goes on; the code of timeout(1)
    INTERRUPTED = 130  # Ctrl-C; 128 + SIGINT, as in a shell


class WaitOver(OpenClawError):
    """The wait is over, the run is not."""


class StartFailed(OpenClawError):
    """`ocw up` in the background ended before it was ready, with the exit code it would have had in front."""

    def __init__(self, message: str, code: int, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        # 1 is how Python ends when it cannot even begin; less than 0 is a signal.
        self.exit = Exit(code) if code in list(Exit) and code != Exit.RUN_FAILED else Exit.INTERNAL


_CODES: tuple[tuple[type[OpenClawError], Exit], ...] = (
    (ConfigurationError, Exit.CONFIGURATION),
    (NotFound, Exit.NOT_FOUND),
    (BadInput, Exit.USAGE),
    (TransientError, Exit.STORE),
    (ConflictError, Exit.REFUSED),
    (WaitOver, Exit.WAIT_OVER),
)


def exit_code(error: OpenClawError) -> Exit:
    if isinstance(error, StartFailed):
        return error.exit
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.RUN_FAILED)


class Seconds(click.FloatRange):
    """How long to wait: a finite time, of which nan is none."""

    def __init__(self) -> None:
        super().__init__(0, 10 * 366 * 86_400)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return float(seconds)


COUNT = click.IntRange(1, 10**9)
"""How many of something: what Redis and Python's own tools can count to."""


def leave(code: int) -> NoReturn:
    raise click.exceptions.Exit(code)


F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json` after the command; it means the same as before it."""
    option = click.option("--json", is_flag=True, expose_value=False, callback=answer_in_json, help="Answer in JSON.")
    return option(command)


def answer_in_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.obj.json = True


def echo_json(value: object) -> None:
    """One line, so that a stream of answers can be read line by line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def error_json(error: OpenClawError) -> dict[str, str | None]:
    return {"type": type(error).__name__, "message": error.message, "hint": error.hint}


def report(kind: str, message: str, hint: str | None, *, as_json: bool) -> None:
    """Tell a failure: to programs on stdout, to people on stderr."""
    if as_json:
        echo_json({"ok": False, "error": {"type": kind, "message": message, "hint": hint}})
        return
    click.echo(f"{styled('error:', sys.stderr, fg='red')} {message}", err=True)
    if hint:
        click.echo(f"{styled('hint:', sys.stderr, fg='cyan')} {hint}", err=True)


def has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, stream: TextIO, **style: Any) -> str:
    return click.style(text, **style) if has_colour(stream) else text


_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Models and tools must not steer the terminal: their escape codes are taken out."""
    return _CONTROL.sub("", text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()) -> str:
    """Aligned columns under headings; columns named in `right` hold numbers."""
    lines = [tuple(head), *(tuple("-" if cell in (None, "") else printable(str(cell)) for cell in row) for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    numeric = [name in set(right) for name in head]
    text = (
        "  ".join(_pad(cell, width, to_right=right) for cell, width, right in zip(line, widths, numeric, strict=True))
        for line in lines
    )
    first, *others = (line.rstrip() for line in text)
    return "\n".join([styled(first, sys.stdout, dim=True), *others])


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Name and value per line; what is empty is left out."""
    shown = [(name, printable(str(value))) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    inset = "\n" + " " * (width + 2)
    return "\n".join(f"{name:<{width}}  {value.strip().replace(chr(10), inset)}" for name, value in shown)


_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def cut(line: str, columns: int) -> str:
    """As much of a line as so many columns hold; its styles take no room, and none is left on at its end."""
    kept = []
    for part in _STYLE.split(line):
        if _STYLE.match(part):
            kept.append(part)
            continue
        for char in part:
            columns -= _width(char)
            if columns >= 0:
                kept.append(char)
    return "".join(kept)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad(text: str, width: int, *, to_right: bool) -> str:
    fill = " " * (width - _width(text))
    return fill + text if to_right else text + fill


def now_ms() -> int:
    return int(time.time() * 1000)


def span(milliseconds: float) -> str:
    """A length of time in one unit: 850ms, 4.2s, 12m, 3h, 9d."""
    seconds = max(0.0, milliseconds / 1000)
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f}m"
    return f"{minutes / 60:.0f}h" if minutes < 2 * 1440 else f"{minutes / 1440:.0f}d"


def dollars(amount: float) -> str:
    return f"${amount:.4f}"


def age(at_ms: int | None) -> str:
    """How long ago something was."""
    return f"{span(now_ms() - at_ms)} ago" if at_ms else "-"
