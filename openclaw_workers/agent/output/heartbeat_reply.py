"""Answers to heartbeats: HEARTBEAT_OK says that nothing needs attention, and nothing is sent."""

from __future__ import annotations

import re

HEARTBEAT_OK = "HEARTBEAT_OK"
PROVENANCE = "heartbeat"
# Models decorate the token with bold, code, quotes, HTML tags or a full stop.
_MARKUP = r"(?:[*_`~\"'\s]|</?\w+>)*"
_START = re.compile(rf"\A{_MARKUP}{HEARTBEAT_OK}(?!\w){_MARKUP}[^\w\s<*`]{{0,4}}\s*")
_END = re.compile(rf"\s*{_MARKUP}(?<!\w){HEARTBEAT_OK}{_MARKUP}[^\w\s]{{0,4}}\s*\Z")


def stripped(text: str) -> tuple[str, bool]:
    """The text without the token at its edges, and whether there was one. A token in the middle stays."""
    found = False
    # Again until nothing changes: some models repeat the token.
    while True:
        shorter = _END.sub("", _START.sub("", text))
        if shorter == text:
            return text.strip(), found
        text, found = shorter, True


def alert_text(text: str, *, ack_max_chars: int) -> str:
    """What there is to tell; empty if nothing needs attention."""
    rest, found = stripped(text)
    return "" if found and len(rest) <= ack_max_chars else rest


def has_tasks(content: str) -> bool:
    """Whether HEARTBEAT.md asks for something: not if it has only blanks, headings, comments and empty boxes."""
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", content, flags=re.DOTALL)
    lines = (line.strip() for line in text.splitlines())
    return any(line and not re.fullmatch(r"#+(?:\s.*)?|[-*+](?:\s*\[[ xX]?\])?|```\w*|~~~\w*", line) for line in lines)
