"""Text that must not be longer than its place."""

from __future__ import annotations


def shorten(text: str, most_chars: int) -> str:
    """The text, or as much of its beginning as fits, with an ellipsis."""
    return text if len(text) <= most_chars else f"{text[: most_chars - 1].rstrip()}…"


def one_line(text: str) -> str:
    """The text with line breaks and runs of spaces replaced by one space each."""
    return " ".join(text.split())
