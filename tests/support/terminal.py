"""Commands in a pseudo-terminal, as a person sees them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import termios
from contextlib import suppress
from typing import Protocol, Self

import pyte
import pytest

from tests.support.waiting import eventually

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Startable(Protocol):
    """How `ocw` is started, and with which environment."""

    env: dict[str, str]

    def argv(self, *words: str) -> list[str]: ...


class Terminal:
    """An `ocw` command in a pseudo-terminal: type keys and read the screen."""

    def __init__(self, ocw: Startable, *words: str, rows: int = 24, columns: int = 80) -> None:
        self._main, side = pty.openpty()
        termios.tcsetwinsize(side, (rows, columns))
        opened = 'exec "$@" <>"$TERMINAL" >&0 2>&1'
        # Use the size of this terminal, not of the one that runs the tests.
        env = {name: value for name, value in ocw.env.items() if name not in ("COLUMNS", "LINES")}
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", opened, "sh", *ocw.argv(*words)],
            env={**env, "TERM": "xterm", "TERMINAL": os.ttyname(side)},
            # A session leader that opens a terminal makes it its controlling one, so that Ctrl-C reaches it.
            start_new_session=True,
        )
        os.close(side)
        os.set_blocking(self._main, False)
        self.screen = ""
        self._drawn = pyte.HistoryScreen(columns, rows, history=1000)
        self._drawing = pyte.ByteStream(self._drawn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def type(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def see(self, text: str, *, within: float = 20) -> None:
        """Wait until the text is on the screen, and drop everything up to it."""
        eventually(lambda: text in self.look(), within=within)
        self.screen = self.screen.partition(text)[2]

    def look(self) -> str:
        """The output since the last text that `see` found, without colours and cursor moves."""
        with suppress(OSError):  # nothing new, or the other side has closed
            piece = os.read(self._main, 65536)
            self.screen += _ESCAPES.sub("", piece.decode(errors="replace"))
            self._drawing.feed(piece)
        return self.screen

    @property
    def drawn(self) -> str:
        """What a person sees, with what has scrolled away."""
        self.look()
        gone = ["".join(char.data for _, char in sorted(line.items())) for line in self._drawn.history.top]
        return "\n".join(line.rstrip() for line in [*gone, *self._drawn.display]).rstrip()

    def shows(self, text: str, *, within: float = 30) -> None:
        """Wait until a person sees the text."""
        try:
            eventually(lambda: text in self.drawn, within=within)
        except pytest.fail.Exception:
            pytest.fail(f"{text!r} is not in:\n{self.drawn}")

    def wait(self, *, within: float = 20) -> int:
        """Wait until it ends and return its exit code."""
        eventually(lambda: self.look() is not None and self._process.poll() is not None, within=within)
        self.look()
        return self._process.returncode

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._main)
