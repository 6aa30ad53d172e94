"""One row of the sweeper's table: a kind of due item, and the code that handles it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class DueKind:
    """A handler must remove the item from the due index or move it to a later time; otherwise it is due again soon."""

    prefix: str
    """What the names of these items begin with, separator included; see store/keys.py."""
    handle: Callable[[str], object]
    """Called with the rest of the item's name."""
    on_sweep: Callable[[], None] = _nothing
    """Called once at the start of each sweep."""
    is_slow: bool = False
    """Handled after all other kinds, and only during the first second of a sweep."""
    is_paced: bool = False
    """Handled after the quick kinds, with a pause after each item: hundreds may be due in one second."""
