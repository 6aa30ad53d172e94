"""Text from standard input."""

from __future__ import annotations

import sys

from openclaw_workers.errors import BadInput


def read_stdin() -> str:
    """All of standard input.

    Raises:
        BadInput: it is closed, or not text in UTF-8.
    """
    check_stdin()
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise BadInput(
            f"standard input is not UTF-8 (byte {error.start} is 0x{error.object[error.start]:02x})",
            hint="convert it first, for example with `iconv -f latin1 -t utf8`",
        ) from error


def check_stdin() -> None:
    """Check that standard input is open: `<&-` and some services start programs without one.

    Raises:
        BadInput: it is closed.
    """
    if sys.stdin is None:
        raise BadInput("standard input is closed", hint="give the message with -m, or redirect standard input")
