"""Reads the log files of `ocw up`: their last lines in the order of time, and lines as they are written."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.25
MOST_BYTES = 4_000_000
"""How much of the end of a file is looked through."""


@dataclass(frozen=True, slots=True)
class LogLine:
    process: str
    text: str


class LinesOfRun:
    """Says whether a line is about a run; without one, every line is wanted."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._is_about: dict[str, bool] = {}

    def __call__(self, line: LogLine) -> bool:
        if not self._run:
            return True
        if _time_of(line.text):  # lines of a traceback belong to the line above them
            self._is_about[line.process] = self._run in line.text
        return self._is_about.get(line.process, self._run in line.text)


def last_lines(files: Sequence[Path], count: int, is_wanted: Callable[[LogLine], bool]) -> list[LogLine]:
    """The last lines of all files together, by the time at their beginning."""
    found: list[tuple[str, int, LogLine]] = []
    for path in files:
        kept: deque[tuple[str, int, LogLine]] = deque(maxlen=count)
        stamp = ""
        for number, text in enumerate(_tail(path)):
            stamp = _time_of(text) or stamp
            line = LogLine(path.stem, text)
            if is_wanted(line):
                kept.append((stamp, number, line))
        found += kept
    found.sort(key=lambda each: (each[0], each[2].process, each[1]))
    return [line for _, _, line in found[-count:]]


class LogFollower:
    """Reads what is appended to files from now on; a file that is replaced or cut is read from its start."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._places = {path: _place(path) for path in files}
        self._rest = dict.fromkeys(files, b"")

    def lines(self) -> Iterator[LogLine]:
        while True:
            for path in self._places:
                yield from self._new(path)
            time.sleep(LOOK_SECONDS)

    def _new(self, path: Path) -> Iterator[LogLine]:
        inode, offset = self._places[path]
        now = _place(path)
        # `ocw up` renames a log file that has grown too large and starts a new one.
        if now[0] != inode or now[1] < offset:
            offset, self._rest[path] = 0, b""
        if now[1] > offset:
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
            offset += len(data)
            *whole, self._rest[path] = (self._rest[path] + data).split(b"\n")
            for each in whole:
                yield LogLine(path.stem, each.decode(errors="replace"))
        self._places[path] = now[0], offset


def _tail(path: Path) -> list[str]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_BYTES))
        text = file.read().decode(errors="replace")
    lines = text.splitlines()
    # The first line is probably cut in the middle.
    return lines[1:] if size > MOST_BYTES else lines


def _time_of(text: str) -> str:
    """`2026-11-17 22:12:17` at the beginning of a line; nothing if there is none."""
    head = text[:19]
    return head if len(head) == 19 and head[4] == head[7] == "-" and head[13] == head[16] == ":" else ""


def _place(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_size
