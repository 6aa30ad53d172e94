"""How much a directory holds. The command may change it meanwhile; what vanishes is not counted."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from openclaw_workers.tools.shell.holder.spec import Watch


class DiskWatch:
    """Looks at a directory again and again, and spends at most a twentieth of the time on it."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self.next_look: float | None = 0.0 if watch else None

    def is_over(self, now: float) -> bool:
        if self._watch is None or self.next_look is None or now < self.next_look:
            return False
        used = disk_usage(self._watch["dir"])
        self.next_look = time.monotonic() + max(0.25, (time.monotonic() - now) * 20)
        return used > self._watch["bytes"]


def disk_usage(directory: str) -> int:
    """Bytes on disk below a directory, without following links."""
    used = 0
    waiting = [directory]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    # Blocks and not the size: a sparse file uses less disk than its size says.
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return used
