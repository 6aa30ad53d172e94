"""Search with ripgrep, where it is installed.

ripgrep opens files by their paths, so a directory that is exchanged for a link at the right moment could lead it
outside. So it only says where matches are. The lines themselves are read by `grep`, which follows no link.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache

from openclaw_workers.cancel import Cancel
from openclaw_workers.child_processes import ProcessExit, spawn, stream_output
from openclaw_workers.errors import ToolTimedOut
from openclaw_workers.tools.files.search_script import MAX_FILE_BYTES, SKIPPED

_NO_MATCH = 1
_OPTIONS = (
    *("--no-config", "--no-messages", "--hidden", "--no-ignore", "--sort=path", "--color=never", "--no-heading"),
    # Of each match: the file, a zero byte, the number of the line, a colon, nothing of the line.
    *("--with-filename", "--null", "--line-number", "--only-matching", "--replace="),
    f"--max-filesize={MAX_FILE_BYTES}",
)


@cache
def program() -> str | None:
    """The one on the path, or the one that is installed beside this Python."""
    return shutil.which("rg") or shutil.which("rg", path=os.path.dirname(sys.executable))


def search(
    rg: str,
    directory: str,
    pattern: str,
    *,
    name: str = "",
    glob: str | None = None,
    ignore_case: bool = False,
    literal: bool = False,
    limit: int,
    cancel: Cancel,
    timeout_seconds: float,
) -> list[tuple[str, int]] | None:
    """The files and lines that match, up to one more than `limit`; None if ripgrep does not accept the pattern.

    Raises:
        ToolTimedOut: it took too long.
        TurnEnded: the turn was stopped in the meantime.
    """
    argv = [rg, *_OPTIONS, f"--max-count={limit + 1}"]
    argv += ["--ignore-case"] if ignore_case else []
    argv += ["--fixed-strings"] if literal else []
    argv += [f"--glob={glob}"] if glob else []
    argv += [f"--glob=!**/{skipped}/**" for skipped in SKIPPED]
    # A pattern or name that begins with a dash must not become an option.
    argv += [f"--regexp={pattern}", "--", f"./{name}" if name else "./"]
    process = spawn(argv, cwd=directory)
    matches = _Matches(limit)
    try:
        ended = stream_output(process, cancel=cancel, timeout_seconds=timeout_seconds, on_output=matches.add)
    except _Enough:
        return matches.found
    if ended is ProcessExit.CANCELLED:
        cancel.check()
    if ended is ProcessExit.TIMED_OUT:
        raise ToolTimedOut(f"no answer within {timeout_seconds:g} s")
    # Exit code 2 also means that some file could not be read, so what was found still counts.
    return matches.found if process.returncode in (0, _NO_MATCH) or matches.found else None


class _Enough(Exception):
    """No further matches are wanted."""


class _Matches:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._unread = b""
        self.found: list[tuple[str, int]] = []

    def add(self, chunk: bytes) -> None:
        self._unread += chunk
        while True:
            path, zero, rest = self._unread.partition(b"\0")
            number, end, following = rest.partition(b":\n")
            if not zero or not end or not number.isdigit():
                return
            self._unread = following
            match = (os.fsdecode(path).removeprefix("./"), int(number))
            # A line with several matches is reported several times.
            if match not in self.found[-1:]:
                self.found.append(match)
            if len(self.found) > self._limit:
                raise _Enough
