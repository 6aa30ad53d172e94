"""Text from children, tools, the web and other senders, marked so that a model can tell it from its orders.

It lies between two marker lines. What looks like a marker inside the text is taken out, however it is disguised, so
that nobody can end the quotation from within and go on in the runtime's voice.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from openclaw_workers.domain.encoding import in_json

_NAME = "UNTRUSTED_TEXT"
CLOSE = f"<<<END_{_NAME}>>>"
REMOVED = "[marker removed]"
SOURCE_CHARS = 200

# It begins at the first of the angles, and takes all of them: else a long row of angles would take time by its square.
_MARKER = re.compile(r"(?<!<)<{2,}+\s*(?:END[\s_-]*)?UNTRUSTED[\s_-]*(?:TEXT|RESULT)(?:[^<>\n]{0,300}>{2,})?", re.I)
# Ours, also where they stand inside of a JSON string.
_OPENING = re.compile(rf'<<<{_NAME} from=\\?"[^"<>\n]*">>>')
_OURS = re.compile(rf"{_OPENING.pattern}(?:\n|\\n)?|(?:\n|\\n)?{CLOSE}")
_MARK = re.compile(rf"(?P<opening>{_OPENING.pattern})|{CLOSE}")
_ANGLES = str.maketrans("\u2039\u203a\u2329\u232a\u27e8\u27e9\u3008\u3009\ufe64\ufe65\uff1c\uff1e", "<><><><><><>")
_DOUBLE = {"\u00ab": "<<", "\u00bb": ">>", "\u27ea": "<<", "\u27eb": ">>", "\u300a": "<<", "\u300b": ">>"}


def wrap(text: str, source: str) -> str:
    """Quote a text and say where it is from."""
    return f"{opening(source)}\n{neutralise(text)}\n{CLOSE}"


def opening(source: str) -> str:
    line = neutralise(" ".join(source.split())).replace('"', "'")
    line = line.replace("<", "(").replace(">", ")")
    return f'<<<{_NAME} from="{line[:SOURCE_CHARS]}">>>'


def unwrapped(text: str) -> str:
    """The text without our markers: for people, and for where it is quoted again as a part of something larger."""
    return _OURS.sub("", text)


def parted(text: str) -> tuple[str, str, str]:
    """A text that quotes another: up to the opening marker, what is quoted, and from the closing marker on."""
    opened, end = _OPENING.search(text), text.rfind(CLOSE)
    if opened is None or end < opened.end():
        return "", text, ""
    return text[: opened.end()], text[opened.end() : end], text[end:]


def cut_out(text: str, start: int, end: int, note: str) -> str:
    """The text with a note in place of what lies between, cut beside markers, and what was quoted still quoted."""
    before = after = None
    for mark in _MARK.finditer(text):
        if mark.start() < start < mark.end():
            start = mark.start()
        if mark.start() < end < mark.end():
            end = mark.end()
        before = mark if mark.end() <= start else before
        after = mark if mark.end() <= end else after
    if before is not after:
        note = f"\n{CLOSE}{note}" if before and before["opening"] else note
        note = f"{note}{after['opening']}\n" if after and after["opening"] else note
    return text[:start] + note + text[end:]


def neutralise(text: str) -> str:
    """Take out what a reader could take for one of our markers."""
    if text.isascii():
        return _MARKER.sub(REMOVED, text)
    if b"untrusted" not in unicodedata.normalize("NFKD", text).encode("ascii", "ignore").lower():
        return text  # to look at each character takes time
    folded, origin = _folded(text)
    kept, at = [], 0
    for forged in _MARKER.finditer(folded):
        kept += [text[at : origin[forged.start()]], REMOVED]
        at = origin[forged.end()]
    return "".join([*kept, text[at:]])


def neutral(value: Any) -> Any:
    """The same for all texts of a JSON value, such as names and errors in what a tool tells of another session."""
    return in_json(value, neutralise)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text as it looks, without what cannot be seen; and for each of its characters where it came from."""
    looks: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(text):
        if char.isascii():
            seen = char
        elif unicodedata.category(char) in ("Cf", "Mn"):
            continue
        else:
            seen = _DOUBLE.get(char) or unicodedata.normalize("NFKC", char.translate(_ANGLES))
        looks.append(seen)
        origin += [index] * len(seen)
    return "".join(looks), [*origin, len(text)]
