"""Files that come with a message, before they are stored: their names, their bytes, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openclaw_workers.errors import BadInput

MOST_FILES = 20
MOST_BYTES = 8 << 20
"""Of all files of one message together: they wait in Redis until a worker writes them."""
_SMALLER = "send a smaller file, or put it into the workspace and say where it is"


@dataclass(frozen=True, slots=True)
class SentFile:
    name: str
    content: bytes


def check_count(count: int, most: int = MOST_FILES) -> None:
    """Check how many files come with a message.

    Raises:
        BadInput: they are too many.
    """
    if count > most:
        raise BadInput(f"{count} files are too many; at most {most} can come with a message")


def check_sizes(sizes: Iterable[tuple[str, int]]) -> None:
    """Check names and sizes of the files of one message.

    Raises:
        BadInput: they are too large; it names the file that is one too much.
    """
    total = 0
    for name, size in sizes:
        if size > MOST_BYTES:
            problem = f"{name} has {size:,} bytes; at most {MOST_BYTES:,} can come with a message"
            raise BadInput(problem, hint=_SMALLER)
        total += size
        if total > MOST_BYTES:
            problem = f"with {name} ({size:,} bytes) the files have {total:,} bytes; at most {MOST_BYTES:,} can come"
            raise BadInput(f"{problem} with a message", hint="send some of them with another message")


def check_files(files: Sequence[SentFile], most: int = MOST_FILES) -> None:
    """Check the files of one message.

    Raises:
        BadInput: they are too many or too large.
    """
    check_count(len(files), most)
    check_sizes((file.name, len(file.content)) for file in files)
