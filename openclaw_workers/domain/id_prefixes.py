"""Ids as people write them: whole, by a unique beginning, or `last` for the newest."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.errors import BadInput

LAST = "last"
PREFIX_CHARS = 3
"""The fewest characters that something is found by."""


def pick_id(wanted: str, newest_first: Sequence[str]) -> str:
    """The id that is meant; what fits none is returned as it is, for the command to say that there is none.

    Raises:
        BadInput: several begin so.
    """
    if wanted in newest_first:
        return wanted
    if wanted == LAST and newest_first:
        return newest_first[0]
    if len(wanted) < PREFIX_CHARS:
        return wanted
    # The part before the first hyphen is the same in all ids of a kind, so it may be left out.
    begun = [each for each in newest_first if each.startswith(wanted) or each.partition("-")[2].startswith(wanted)]
    if len(begun) > 1:
        raise BadInput(f"several ids begin with {wanted}: {', '.join(begun[:5])}", hint="write more of the id")
    return begun[0] if begun else wanted
