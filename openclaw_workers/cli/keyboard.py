"""Messages from standard input: typed, pasted or piped."""

from __future__ import annotations

import os
import select
import sys

from openclaw_workers.errors import BadInput

PASTE_SECONDS = 0.03
"""Lines that follow each other faster than this were pasted, not typed."""
PROMPT = "> "


class Keyboard:
    """Standard input, one message at a time."""

    def __init__(self) -> None:
        check_stdin()
        self.is_person = sys.stdin.isatty()
        if self.is_person:
            # Line editing, history, and bracketed paste where the terminal has it.
            import readline  # noqa: F401

    def read(self) -> str | None:
        """The next message; None at the end of input. A pasted block of lines is one message."""
        if not self.is_person:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        try:
            lines = [input(PROMPT)]
            while self._has_more(PASTE_SECONDS):
                lines.append(input())
        except EOFError:
            print(file=sys.stderr)  # noqa: T201 - so that the shell's prompt starts on a new line
            return None
        return "\n".join(lines)

    def typed(self) -> str | None:
        """The lines typed since the last call; None at the end of input. Does not wait."""
        if not self.is_person:
            return ""
        # The terminal returns one whole line per read; an unfinished line stays for the next prompt.
        pieces: list[str] = []
        while self._has_more(0):
            piece = os.read(sys.stdin.fileno(), 65536)
            if not piece:
                return "".join(pieces).rstrip("\n") or None
            pieces.append(piece.decode(errors="replace"))
        return "".join(pieces).rstrip("\n")

    def _has_more(self, seconds: float) -> bool:
        return bool(select.select([sys.stdin], [], [], seconds)[0])


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
