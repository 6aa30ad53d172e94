"""Splits a long text into messages. A code block that fits into one message is never cut, and no entity is damaged."""

from __future__ import annotations

import re
from bisect import bisect_right
from unicodedata import category

from ingress.channels.telegram.styled import Entity, Styled, utf16_offsets

MAX_TEXT = 4096
"""UTF-16 units in one message."""
MAX_ENTITIES = 100
"""Telegram ignores those beyond."""
_JOINER = "\u200d"
_BREAKS = (re.compile(r"\n\n+"), re.compile(r"\n"), re.compile(r"[.!?…] |[。！？]"), re.compile(r"\s"))
"""Where a text may be cut, best first."""


def split(whole: Styled, limit: int = MAX_TEXT) -> list[Styled]:
    """Cut a text into pieces of at most `limit` UTF-16 units. Text that is only white space gives no piece."""
    units = utf16_offsets(whole.text)
    pieces: list[Styled] = []
    start = _next_start(whole, 0)
    while start < len(whole.text):
        end = _end_of_piece(whole, units, start, limit)
        kept = len(whole.text[start:end].rstrip()) + start
        if kept > start and _is_visible(whole.text[start:kept]):
            pieces.append(whole.slice(start, kept))
        start = _next_start(whole, end)
    return pieces


def _end_of_piece(whole: Styled, units: list[int], start: int, limit: int) -> int:
    # Telegram counts UTF-16 units, so an emoji may count as two.
    end = bisect_right(units, units[start] + limit) - 1
    inside = [each for each in whole.entities if each.start < end and each.end > start]
    if len(inside) > MAX_ENTITIES:
        end = max(start + 1, inside[MAX_ENTITIES].start)
    if end >= len(whole.text):
        return len(whole.text)
    for each in inside:
        fits = units[each.end] - units[each.start] <= limit
        # A code block that begins after the start moves to the next message as a whole.
        if each.type == "pre" and each.start < end < each.end and each.start > start and fits:
            return each.start
    return _break_before(whole.text, start, end, [each for each in inside if each.end - each.start < limit])


def _break_before(text: str, start: int, end: int, inside: list[Entity]) -> int:
    """The best place to cut in the second half of text[start:end]: not inside an entity that could be kept whole."""
    whole = [each for each in inside if each.type != "blockquote"]
    for pattern in _BREAKS:
        for at in reversed([found.end() for found in pattern.finditer(text, (start + end) // 2, end)]):
            if not any(each.start < at < each.end for each in whole):
                return at
    cut = next((each for each in whole if start < each.start < end < each.end), None)
    return cut.start if cut else _between_characters(text, start, end)


def _between_characters(text: str, start: int, end: int) -> int:
    """Step back from the middle of what is seen as one character: an emoji with its modifiers, a letter with marks."""
    for at in range(end, max(start + 1, end - 32), -1):
        joined = text[at - 1] == _JOINER or text[at] == _JOINER or category(text[at]) in ("Mn", "Me", "Mc")
        if not joined and not "\U0001f3fb" <= text[at] <= "\U0001f3ff":
            return at
    return end


def _next_start(whole: Styled, at: int) -> int:
    """Where the next piece begins: blank lines are skipped, indentation is kept."""
    text = whole.text
    is_code = any(each.type == "pre" and each.start <= at < each.end for each in whole.entities)
    if is_code:
        return at
    first = at
    while first < len(text) and text[first].isspace():
        first += 1
        if text[first - 1] == "\n":
            at = first
    code = next((each.start for each in whole.entities if each.type == "pre" and at <= each.start <= first), None)
    return at if code is None else code


def _is_visible(text: str) -> bool:
    """Telegram refuses a message that consists of characters nobody can see."""
    return any(category(char) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for char in text)
