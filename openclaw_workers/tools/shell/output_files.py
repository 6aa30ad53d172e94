"""Read the output that a holder writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.tools.shell.holder.spec import SEGMENT, SEGMENT_BYTES

_READ_BYTES = 1 << 20


@dataclass(slots=True)
class OutputFiles:
    """The output of one command from `offset` on. Reading moves the offset."""

    directory: Path
    offset: int = 0
    skipped_bytes: int = 0
    """What was deleted before it was read."""

    def read(self) -> bytes:
        """Up to a megabyte of what is there now; b"" at the end of it."""
        while True:
            number, position = divmod(self.offset, SEGMENT_BYTES)
            try:
                with open(self.directory / SEGMENT.format(number), "rb") as file:
                    chunk = os.pread(file.fileno(), _READ_BYTES, position)
            except FileNotFoundError:
                # Either nothing was written there yet, or the holder has already deleted this segment to save disk.
                later = self._first_after(number)
                if later is None:
                    return b""
                self.skipped_bytes += later * SEGMENT_BYTES - self.offset
                self.offset = later * SEGMENT_BYTES
                continue
            self.offset += len(chunk)
            return chunk

    def _first_after(self, number: int) -> int | None:
        stem = SEGMENT.format("")
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return None
        numbers = (int(name.removeprefix(stem)) for name in names if name.startswith(stem))
        return min((each for each in numbers if each > number), default=None)
