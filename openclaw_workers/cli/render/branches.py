"""The lines that draw a tree before the names of its nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from openclaw_workers.domain.shorten import one_line, shorten

T = TypeVar("T")

DRAWN = ("├─ ", "└─ ", "│  ")
PLAIN = ("|- ", "`- ", "|  ")
NAME_CHARS = 44


def branches(roots: Sequence[T], children_of: Callable[[T], Sequence[T]]) -> Iterator[tuple[str, T]]:
    """Every node, from the top down, with the lines to draw before its name."""
    for root in roots:
        yield "", root
        yield from _below(children_of(root), children_of, "", _lines())


def short(name: str) -> str:
    """A name that leaves room for the columns beside it."""
    return shorten(one_line(name), NAME_CHARS)


def _below(
    nodes: Sequence[T], children_of: Callable[[T], Sequence[T]], inset: str, lines: tuple[str, str, str]
) -> Iterator[tuple[str, T]]:
    more, last, beside = lines
    for node in nodes:
        is_last = node is nodes[-1]
        yield inset + (last if is_last else more), node
        yield from _below(children_of(node), children_of, inset + ("   " if is_last else beside), lines)


def _lines() -> tuple[str, str, str]:
    try:
        # A terminal with another encoding would make the whole command fail.
        "".join(DRAWN).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return DRAWN
