"""Text for terminals: tables that line up, ages and sums, and nothing that could steer the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TextIO

import click

from openclaw_workers.cli.render.escapes import strip_escapes
from openclaw_workers.clock import now_ms

CUT_COLUMNS = (16, 8)
"""Every column that may be cut is cut to the first width before one is cut to the second, and none to less."""
_PATH = re.compile(r"[^\s:/]*[:/]\S*")
"""Session keys, models, processes and files: what tells them apart is at their end."""


def has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, stream: TextIO, **style: Any) -> str:
    return click.style(text, **style) if has_colour(stream) else text


def printable(text: str) -> str:
    """The text without escape codes: models and tools must not steer the terminal."""
    return strip_escapes(text)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[str] = (),
    cut: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> str:
    """Aligned columns under headings; columns named in `right` hold numbers.

    Where the table does not fit the terminal, columns named in `drop` are left out, the first one first, and then those
    named in `cut` are cut, the first one first.
    """
    lines = [tuple(head), *(tuple("-" if cell in (None, "") else printable(str(cell)) for cell in row) for row in rows)]
    for name in drop:
        if _room(_widths(lines)) < 0:
            place = lines[0].index(name)
            lines = [line[:place] + line[place + 1 :] for line in lines]
    head, widths = lines[0], _widths(lines)
    for least, name in product(CUT_COLUMNS, cut):
        place = head.index(name)
        # The heading is never cut.
        widths[place] -= max(0, min(-_room(widths), widths[place] - max(least, len(name))))
    lines = [tuple(map(_cut, line, widths)) for line in lines]
    numeric = [name in set(right) for name in head]
    text = (
        "  ".join(_pad(cell, width, to_right=right) for cell, width, right in zip(line, widths, numeric, strict=True))
        for line in lines
    )
    first, *others = (line.rstrip() for line in text)
    return "\n".join([styled(first, sys.stdout, dim=True), *others])


def _widths(lines: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(map(_width, column)) for column in zip(*lines, strict=True)]


def _room(widths: Sequence[int]) -> int:
    """The columns that stay free in the terminal; negative if too many are used."""
    return shutil.get_terminal_size().columns - sum(widths) - 2 * (len(widths) - 1)


def _cut(text: str, columns: int) -> str:
    if _width(text) <= columns:
        return text
    if _PATH.fullmatch(text):
        return "…" + cut_to_columns(text[::-1], columns - 1)[::-1]
    return cut_to_columns(text, columns - 1) + "…"


_UUID_END = re.compile(r"(?<=\b[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
RUN_CHARS = len("run-") + 8


def short_key(key: str) -> str:
    """A session key with the first part of its UUID, by which commands find it too."""
    return _UUID_END.sub("", key)


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """The beginnings of run ids that tell them apart, by which commands find them too."""
    count = RUN_CHARS
    # At least eight characters, and more while two ids look the same.
    while len({each[:count] for each in ids}) < len(set(ids)):
        count += 1
    return {each: each[:count] for each in ids}


def field_list(pairs: Iterable[tuple[str, object]]) -> str:
    """One name and value per line, without the empty ones."""
    filled = [(name, printable(str(value))) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in filled), default=0)
    inset = "\n" + " " * (width + 2)
    return "\n".join(f"{name:<{width}}  {value.strip().replace(chr(10), inset)}" for name, value in filled)


_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def cut_to_columns(line: str, columns: int) -> str:
    """As much of a line as fits. Style codes take no room, and all are kept, so that no style stays on."""
    kept = []
    for part in _STYLE.split(line):
        if _STYLE.match(part):
            kept.append(part)
            continue
        for char in part:
            columns -= _width(char)
            if columns >= 0:
                kept.append(char)
    return "".join(kept)


def _width(text: str) -> int:
    # Chinese, Japanese and Korean characters take two columns.
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad(text: str, width: int, *, to_right: bool) -> str:
    fill = " " * (width - _width(text))
    return fill + text if to_right else text + fill


def span(milliseconds: float) -> str:
    """A length of time in one unit: 850ms, 4.2s, 12m, 3h, 9d."""
    seconds = max(0.0, milliseconds / 1000)
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f}m"
    return f"{minutes / 60:.0f}h" if minutes < 2 * 1440 else f"{minutes / 1440:.0f}d"


def dollars(amount: float) -> str:
    return f"${amount:.4f}"


def cost_of_calls(cost: float, calls: int, unpriced: int) -> str:
    """Dollars for calls, of which some may have been of models whose price is not known."""
    if not unpriced:
        return dollars(cost)
    return "unknown" if unpriced == calls else f"{dollars(cost)} + unknown"


def age(at_ms: int | None) -> str:
    """How long ago something was."""
    return f"{span(now_ms() - at_ms)} ago" if at_ms else "-"
