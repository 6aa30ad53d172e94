"""Escape codes: models and tools must not steer the terminal, and output in a file may be shown on one later."""

from __future__ import annotations

import re

_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*"
"""The beginning of a code that contains text, such as a window title or a link (OSC, DCS, SOS, PM, APC)."""

_ESCAPES = re.compile(
    rf"{_STRING}(?:\x07|\x1b\\|\x9c|(?=[\x1b\n])|\Z)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_UNFINISHED = re.compile(rf"(?:{_STRING}\x1b?|(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[ -/]*)\Z")

MOST_HELD = 4096
"""A code that is longer is none: what follows is text again."""


def strip_escapes(text: str) -> str:
    """The text without escape codes and control characters; tabs and line breaks stay."""
    return _ESCAPES.sub("", text)


class EscapeFilter:
    """Strips escape codes from text that comes in pieces: a code may begin in one and end in another."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be shown now."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text)
        # Text must not be held back for ever by something that only looks like the beginning of a code.
        cut = len(text) if unfinished is None or len(unfinished[0]) > MOST_HELD else unfinished.start()
        self._held = text[cut:]
        return strip_escapes(text[:cut])
