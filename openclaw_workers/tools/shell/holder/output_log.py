"""The output of a command in files of one size. The oldest are deleted, so that no flood fills the disk."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from openclaw_workers.tools.shell.holder.spec import KEPT_SEGMENTS, SEGMENT, SEGMENT_BYTES

# A command that floods its output waits: more than this in a tenth of a second only burns the disk.
_BYTES_PER_TENTH = 4 << 20


class OutputLog:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._fd: int | None = None
        self._window_began = 0.0
        self._window_bytes = 0
        self.total = 0

    def write(self, chunk: bytes) -> None:
        while chunk:
            room = SEGMENT_BYTES - self.total % SEGMENT_BYTES
            part, chunk = chunk[:room], chunk[room:]
            try:
                if self._fd is None or room == SEGMENT_BYTES:
                    self._next_segment()
                assert self._fd is not None
                os.write(self._fd, part)
            except OSError:  # the disk is full: the command goes on, its output is lost
                return
            self.total += len(part)
            self._slow_down(len(part))

    def _next_segment(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        number = self.total // SEGMENT_BYTES
        self._fd = os.open(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if number >= KEPT_SEGMENTS:
            with suppress(OSError):
                os.unlink(self._path(number - KEPT_SEGMENTS))

    def _path(self, number: int) -> str:
        return os.path.join(self._directory, SEGMENT.format(number))

    def _slow_down(self, size: int) -> None:
        now = time.monotonic()
        if now - self._window_began >= 0.1:
            self._window_began, self._window_bytes = now, 0
        self._window_bytes += size
        if self._window_bytes > _BYTES_PER_TENTH:
            time.sleep(max(0.0, self._window_began + 0.1 - now))
