"""The name that somebody may have meant when they mistyped it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name most like `word`; None if none is at least as similar as `cutoff`."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A question for an error or a hint; empty if no known name comes near."""
    near = nearest(word, known, cutoff=cutoff)
    return f"did you mean {near!r}?" if near is not None else ""
