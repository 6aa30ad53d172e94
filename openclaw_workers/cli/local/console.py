"""The children's output: one line format on the terminal, and one log file per child."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TextIO

from openclaw_workers.redaction import mask_secrets

ROTATE_AT_BYTES = 10 * 1024 * 1024
_COLOURS = (36, 32, 35, 34, 33, 96)  # cyan, green, magenta, blue, yellow, bright cyan
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def wants_colour(stream: TextIO, env: Mapping[str, str]) -> bool:
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


class Console:
    """Prints `HH:MM:SS name   message`, and writes the line with its date to `<folder>/<name>.log`."""

    def __init__(self, folder: Path, stream: TextIO | None, *, in_colour: bool) -> None:
        self._folder = folder
        self._stream = stream
        self._in_colour = in_colour
        self._files: dict[str, LogFile] = {}

    def line(self, name: str, text: str, *, is_shown: bool = True) -> None:
        # Escape sequences in a log line could change the terminal of whoever reads it.
        text = mask_secrets(_ESCAPES.sub("", text))
        if name not in self._files:
            self._files[name] = LogFile(self._folder / f"{name}.log")
        self._files[name].write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
        if is_shown:
            self._show(name, text)

    def _show(self, name: str, text: str) -> None:
        if self._stream is None:
            return
        label = f"{name:<15}"
        if self._in_colour:
            label = f"\x1b[{_COLOURS[list(self._files).index(name) % len(_COLOURS)]}m{label}\x1b[0m"
        try:
            self._stream.write(f"{time.strftime('%H:%M:%S')} {label} {text}\n")
            self._stream.flush()
        except (OSError, ValueError):
            # The reader is gone (`ocw up | head`, a closed terminal); the files have every line.
            self._stream = None

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class LogFile:
    """A log file, rotated to `<name>.1` when it exceeds the limit."""

    def __init__(self, path: Path, *, rotate_at_bytes: int = ROTATE_AT_BYTES) -> None:
        self._path = path
        self._rotate_at_bytes = rotate_at_bytes
        self._file = self._open()

    def write(self, text: str) -> None:
        if self._file.tell() > self._rotate_at_bytes:
            self._file.close()
            self._file = self._open()
        try:
            self._file.write(text.encode())
        except OSError:
            # A full disk must not stop the supervisor.
            return

    def close(self) -> None:
        self._file.close()

    def _open(self) -> IO[bytes]:
        if self._path.exists() and self._path.stat().st_size > self._rotate_at_bytes:
            self._path.replace(self._path.with_suffix(".log.1"))
        # Only the owner may read it, like the rest of the state directory.
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(fd, "ab", buffering=0)
