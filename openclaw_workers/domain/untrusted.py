"""Mark text from children, tools, the web and other senders, so that a model can tell it from its instructions.

The text is put between two marker lines. Anything inside that looks like a marker is removed, however it is disguised.
So a text cannot close its own quotation and continue as if it were the runtime.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from openclaw_workers.domain.encoding import map_json_strings, replace_surrogates

_NAME = "UNTRUSTED_TEXT"
CLOSE = f"<<<END_{_NAME}>>>"
REMOVED = "[marker removed]"
SOURCE_CHARS = 200

# The match starts at the first angle bracket and takes all of them. Otherwise a long row of brackets would take
# quadratic time.
_MARKER = re.compile(
    r"(?<!<)<{2,}+\s*(?:END[\s_-]*)?(?:UNTRUSTED[\s_-]*(?:TEXT|RESULT)|CHAT[\s_-]*MESSAGE)(?:[^<>\n]{0,300}>{2,})?",
    re.I,
)
_MARKER_WORDS = re.compile(rb"untrusted|chat[\s_-]*message")
# Our own markers, also inside a JSON string.
_OPENING = re.compile(rf'<<<{_NAME} from=\\?"[^"<>\n]*">>>')
_OURS = re.compile(rf"{_OPENING.pattern}(?:\n|\\n)?|(?:\n|\\n)?{CLOSE}")
_MARK = re.compile(rf"(?P<opening>{_OPENING.pattern})|{CLOSE}")
_ANGLES = str.maketrans("\u2039\u203a\u2329\u232a\u27e8\u27e9\u3008\u3009\ufe64\ufe65\uff1c\uff1e", "<><><><><><>")
_DOUBLE = {"\u00ab": "<<", "\u00bb": ">>", "\u27ea": "<<", "\u27eb": ">>", "\u300a": "<<", "\u300b": ">>"}


def wrap(text: str, source: str) -> str:
    """Quote a text and name its source."""
    return f"{opening_marker(source)}\n{neutralise(text)}\n{CLOSE}"


def opening_marker(source: str) -> str:
    return f'<<<{_NAME} from="{attribute(source)}">>>'


def attribute(text: str, most: int = SOURCE_CHARS) -> str:
    """A text for use between the quotation marks of a marker."""
    return safe_line(text, most).replace('"', "'").replace("<", "(").replace(">", ")")


def safe_line(text: str, most: int = SOURCE_CHARS) -> str:
    """A name or title in one line, that nobody can take for more than that."""
    return neutralise(" ".join(replace_surrogates(text).split()))[:most]


def unwrap(text: str) -> str:
    """Remove our markers, to show the text to people or to quote it again as part of a larger text."""
    return _OURS.sub("", text)


def split_quotation(text: str) -> tuple[str, str, str]:
    """Split a text into the part up to the opening marker, the quoted part, and the part from the closing marker on."""
    opened, end = _OPENING.search(text), text.rfind(CLOSE)
    if opened is None or end < opened.end():
        return "", text, ""
    return text[: opened.end()], text[opened.end() : end], text[end:]


def replace_span(text: str, start: int, end: int, note: str) -> str:
    """Replace text[start:end] by a note. Markers are never cut in half, and quoted text stays quoted."""
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
    """Remove whatever a reader could mistake for one of our markers."""
    if text.isascii():
        return _MARKER.sub(REMOVED, text)
    if not _MARKER_WORDS.search(unicodedata.normalize("NFKD", text).encode("ascii", "ignore").lower()):
        return text  # a quick check, because folding each character is slow
    folded, origin = _folded(text)
    kept, at = [], 0
    for forged in _MARKER.finditer(folded):
        kept += [text[at : origin[forged.start()]], REMOVED]
        at = origin[forged.end()]
    return "".join([*kept, text[at:]])


def neutralise_json(value: Any) -> Any:
    """Do the same for all strings in a JSON value, such as names and errors in a tool's report about a session."""
    return map_json_strings(value, neutralise)


def _folded(text: str) -> tuple[str, list[int]]:
    """Fold the text to how it looks, without invisible characters. Also return each character's original index."""
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
