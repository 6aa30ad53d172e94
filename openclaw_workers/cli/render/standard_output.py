"""The answer on stdout, everything else dimmed on stderr, also what is waited for while nothing comes."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.render.escapes import EscapeFilter
from openclaw_workers.cli.render.text import cut_to_columns, styled

if TYPE_CHECKING:
    from openclaw_workers.cli.render.turn_status import TurnStatus

ERASE = "\r\x1b[K"
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.1
QUIET_SECONDS = 0.5
"""The line appears after this long without output."""


class StandardOutput:
    """Text goes to stdout in pieces; `line` writes a whole line to stderr."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._escapes = EscapeFilter()
        self._in_line = False

    def write(self, text: str) -> None:
        text = self._escapes.add(text)
        if text:
            click.echo(text, nl=False)
            self._in_line = not text.endswith("\n")

    def end_text(self) -> None:
        """The next piece of text begins on a new line."""
        if self._in_line:
            click.echo()
        self._in_line = False
        self._escapes = EscapeFilter()

    def line(self, text: str) -> None:
        # Only if both end up on the same screen. In a file, a note must not break the answer into lines.
        if self.is_terminal and sys.stderr.isatty():
            self.end_text()
        click.echo(styled(text, sys.stderr, dim=True), err=True)

    def close(self) -> None:
        """Nothing more is written for a while."""


class WaitingOutput(StandardOutput):
    """For a person: says on stderr what is waited for, while nothing comes."""

    def __init__(self, status: TurnStatus) -> None:
        super().__init__()
        self._status = status
        # Reentrant, because `line` calls `end_text`. It keeps the drawing thread from writing between two pieces.
        self._lock = threading.RLock()
        self._written_at = time.monotonic()
        self._is_drawn = False
        self._closed = threading.Event()
        threading.Thread(target=self._draw_until_closed, daemon=True).start()

    def write(self, text: str) -> None:
        with self._lock:
            self._erase()
            super().write(text)

    def end_text(self) -> None:
        with self._lock:
            self._erase()
            super().end_text()

    def line(self, text: str) -> None:
        with self._lock:
            self._erase()
            super().line(text)

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            self._erase()

    def _erase(self) -> None:
        self._written_at = time.monotonic()
        if self._is_drawn:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
        self._is_drawn = False

    def _draw_until_closed(self) -> None:
        count = 0
        while not self._closed.wait(FRAME_SECONDS):
            count += 1
            with self._lock:
                # It may have been closed while this thread waited for the lock, and must not draw again.
                if not self._closed.is_set():
                    self._draw(FRAMES[count % len(FRAMES)])

    def _draw(self, frame: str) -> None:
        line = self._status.line
        is_quiet = time.monotonic() - self._written_at >= QUIET_SECONDS
        # On a terminal, stdout and stderr share the line: drawing would erase the unfinished answer.
        if not line or not is_quiet or (self._in_line and self.is_terminal):
            return
        text = cut_to_columns(f"{frame} {line}", shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"{ERASE}{styled(text, sys.stderr, dim=True)}")
        sys.stderr.flush()
        self._is_drawn = True


def shows_waiting() -> bool:
    """Whether a person sees stderr on a terminal whose lines can be erased."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
