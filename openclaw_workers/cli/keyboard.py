"""Text from standard input and from the command line."""

from __future__ import annotations

import os
import sys

from openclaw_workers.errors import BadInput


def read_stdin() -> str:
    """All of standard input.

    Raises:
        BadInput: it is closed, or not text in UTF-8.
    """
    check_stdin()
    return _decoded(sys.stdin.buffer.read(), "standard input")


def read_line() -> str | None:
    """The next line of standard input, without its end; None if there are no more.

    Raises:
        BadInput: it is not text in UTF-8; the lines after it can still be read.
    """
    line = sys.stdin.buffer.readline()
    return _decoded(line.rstrip(b"\r\n"), "the line") if line else None


def check_argument(text: str) -> str:
    """A message from the command line.

    Raises:
        BadInput: it is not text in UTF-8.
    """
    # Python keeps invalid bytes of an argument as surrogates, which JSON and Redis refuse later and less clearly.
    return _decoded(os.fsencode(text), "the message")


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{what} is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x})",
            hint="convert it first, for example with `iconv -f latin1 -t utf8`",
        ) from error


def check_stdin() -> None:
    """Check that standard input is open: `<&-` and some services start programs without one.

    Raises:
        BadInput: it is closed.
    """
    if sys.stdin is None:
        raise BadInput("standard input is closed", hint="give the message with -m, or redirect standard input")
