"""Select lines of a file. `read` imports this module, and runs it isolated to search by a pattern.

It imports only a little of the standard library, so that it starts in about twenty milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO, Any

_PIECE_BYTES = 65_536
_CHECK_EVERY_LINES = 2_000
MEMORY_BYTES = 512 * 1024 * 1024
TOO_MUCH_MEMORY = "the search needs too much memory; use a simpler pattern"


def select_lines(
    file: IO[bytes],
    *,
    offset: int,
    limit: int,
    max_bytes: int,
    wanted: Callable[[str], object] | None = None,
    check: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Select lines from number `offset` on. With `wanted`, select matching lines only and prefix their numbers.

    Returns `lines`, `next_offset` (None at the end of the file), `stopped_by` (`limit` or `size`), `last`, the number
    of the last line read, and `cut`: what to say if the only line was too long and is cut ("" if not).
    """
    chosen: list[str] = []
    cut = ""
    used = last = 0
    for last, text, unread_bytes in _numbered(file, check):
        if last < offset or (wanted is not None and not wanted(text)):
            continue
        shown = text if wanted is None else f"{last}: {text}"
        size = len(shown.encode()) + 1
        # Checked with the next line in hand, so that a page that ends with the file does not promise more.
        if len(chosen) == limit or (chosen and used + size + bool(unread_bytes) > max_bytes):
            stopped_by = "limit" if len(chosen) == limit else "size"
            return {"lines": chosen, "next_offset": last, "stopped_by": stopped_by, "last": last, "cut": cut}
        if unread_bytes or size > max_bytes:
            kept = shown.encode()[: max_bytes - used].decode(errors="ignore")
            missing_bytes = size - 1 - len(kept.encode()) + unread_bytes
            shown, cut = kept, f"[line {last} is cut here: {missing_bytes:,} more bytes of it are not shown]"
        chosen.append(shown)
        used += size
    return {"lines": chosen, "next_offset": None, "stopped_by": None, "last": last, "cut": cut}


def _numbered(file: IO[bytes], check: Callable[[], None]) -> Iterator[tuple[int, str, int]]:
    """Yield each line's number, its text up to a maximum length, and how many bytes were left out."""
    number = 0
    # Without a limit, a file of one endless line would fill the memory.
    while piece := file.readline(_PIECE_BYTES):
        number += 1
        unread_bytes = 0
        end = piece
        while not end.endswith(b"\n") and (end := file.readline(_PIECE_BYTES)):
            unread_bytes += len(end.rstrip(b"\r\n"))
            check()
        if number % _CHECK_EVERY_LINES == 0:
            check()
        yield number, piece.rstrip(b"\r\n").decode(errors="replace"), unread_bytes


def answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        wanted = re.compile(request["pattern"]).search
    # RecursionError: a deeply nested pattern. OverflowError: a repetition count that is too large.
    except (re.error, RecursionError, OverflowError) as error:
        return {"error": f"the pattern is not a regular expression Python accepts: {error}"}
    with open(request["fd"], "rb") as file:
        return select_lines(
            file,
            offset=request["offset"],
            limit=request["limit"],
            max_bytes=request["max_bytes"],
            wanted=wanted,
        )
