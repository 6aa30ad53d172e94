"""Find the lines that a patch replaces, and replace them.

Models copy lines almost exactly. So lines are first looked for as written, then without trailing white space, then
without any around them, then with typographic quotes, dashes and spaces made plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.files.patch_format import Chunk

_PLAIN = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
_FOLDS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_PLAIN),
)
_SHOWN_CHARS = 120


class Lines:
    """The lines of a file, with an index of where each line is, so that large files are searched quickly."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, wanted: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
        """The first place at or after `start` where these lines are; `at_end`: only as the last lines."""
        for fold, (folded, places) in zip(_FOLDS, self._folded, strict=True):
            sought = [fold(line) for line in wanted]
            last = len(folded) - len(sought)
            candidates = [last] if at_end else places.get(sought[0], [])
            for place in candidates:
                if start <= place <= last and folded[place : place + len(sought)] == sought:
                    return place
        return None

    @cached_property
    def _folded(self) -> list[tuple[list[str], dict[str, list[int]]]]:
        found = []
        for fold in _FOLDS:
            folded = [fold(line) for line in self._lines]
            places: dict[str, list[int]] = {}
            for number, line in enumerate(folded):
                places.setdefault(line, []).append(number)
            found.append((folded, places))
        return found


def apply_chunks(text: str, chunks: Sequence[Chunk], path: str) -> str:
    """The text with all changes.

    Raises:
        ToolError: the lines of a change are not in the file.
    """
    ends_with_newline = text.endswith("\n") or not text
    before = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
    lines = Lines(before)
    after: list[str] = []
    done = 0
    for chunk in chunks:
        # Each search begins after the last change: lines that occur twice are then found in the order of the patch.
        start, length = _place(lines, chunk, done, path)
        after += before[done:start]
        after += chunk.new
        done = start + length
    after += before[done:]
    return "\n".join(after) + ("\n" if ends_with_newline and after else "")


def _place(lines: Lines, chunk: Chunk, start: int, path: str) -> tuple[int, int]:
    """Where a change goes, and how many lines it replaces. It may shorten the change by an empty last line."""
    for context in chunk.contexts:
        found = lines.find([context], start)
        if found is None:
            raise ToolError(
                f"{path}: the line after @@ in line {chunk.number} of the patch is not in the file"
                f"{_after(start)}: {context[:_SHOWN_CHARS]!r}. Read the file and copy the line"
            )
        start = found + 1
    if not chunk.old:
        # Only new lines: after the line that @@ names, or else at the end of the file.
        return (start if chunk.contexts and not chunk.at_end else len(lines)), 0
    place = lines.find(chunk.old, start, at_end=chunk.at_end)
    if place is None and len(chunk.old) > 1 and not chunk.old[-1].strip():
        # An empty line that only separates this change from the next.
        chunk.old = chunk.old[:-1]
        chunk.new = chunk.new[:-1] if chunk.new and not chunk.new[-1].strip() else chunk.new
        place = lines.find(chunk.old, start, at_end=chunk.at_end)
    if place is None:
        where = " at the end of the file" if chunk.at_end else f" in the file{_after(start)}"
        shown = "\n".join(chunk.old)[: 3 * _SHOWN_CHARS]
        raise ToolError(
            f"{path}: the lines that line {chunk.number} of the patch wants to change are not{where}. "
            "Read the file and copy the lines. They are:",
            output=shown,
        )
    return place, len(chunk.old)


def _after(start: int) -> str:
    return f" after line {start}" if start else ""
