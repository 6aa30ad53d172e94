"""What was typed in earlier chats, in a file that only its owner can read."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

if TYPE_CHECKING:
    from pathlib import Path

NAME = "chat-history"
MOST_BYTES = 1_000_000


def open_history(state_dir: Path) -> History:
    """Kept in the state directory; without one, what is typed is forgotten at the end."""
    path = state_dir / NAME
    try:
        # prompt_toolkit would create the file readable for others.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError:
        return InMemoryHistory()
    with suppress(OSError):
        _cut(path)
    return FileHistory(path)


def _cut(path: Path) -> None:
    """Keep the newer half of a large file, from the beginning of an entry."""
    if path.stat().st_size <= MOST_BYTES:
        return
    # Each entry begins with an empty line and a comment with its time.
    _, _, kept = path.read_bytes()[-MOST_BYTES // 2 :].partition(b"\n\n# ")
    shorter = path.with_suffix(".new")
    shorter.touch(0o600)
    shorter.write_bytes(b"\n# " + kept)
    shorter.replace(path)
