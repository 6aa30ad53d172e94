"""The text of a file, in a form that is written back byte for byte where nothing was changed.

UTF-8 and UTF-16 with a byte order mark are read. Bytes that are not UTF-8 stay what they are. Files in which all lines
end with CRLF are shown with plain line ends and get CRLF again.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from openclaw_workers.errors import ToolError

MAX_TEXT_BYTES = 10 * 1024 * 1024
SAMPLE_BYTES = 8_192
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True)
class TextContent:
    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark at its start."""
    newline: str = "\n"

    def encode(self, text: str) -> bytes:
        """Another text as the bytes of this file."""
        lines = text if self.newline == "\n" else text.replace("\n", self.newline)
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        return self.mark + lines.encode(self.encoding, errors)


def decode_text(data: bytes, shown: str) -> TextContent:
    """Read the bytes of a file as text.

    Raises:
        ToolError: the file is binary.
    """
    mark = byte_order_mark(data)
    encoding = _MARKS.get(mark, "utf-8")
    if encoding == "utf-8" and is_binary(data[:SAMPLE_BYTES]):
        raise ToolError(f"{shown} is a binary file; it cannot be changed as text")
    try:
        text = data[len(mark) :].decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown} begins like a {encoding} file but is none: {error.reason}") from error
    if "\r\n" in text and text.count("\r\n") == text.count("\n") and text.count("\r") == text.count("\n"):
        return TextContent(text.replace("\r\n", "\n"), encoding, mark, "\r\n")
    return TextContent(text, encoding, mark)


def byte_order_mark(data: bytes) -> bytes:
    return next((mark for mark in _MARKS if data.startswith(mark)), b"")


def is_binary(sample: bytes) -> bool:
    """By the first bytes: a few invalid ones may come from another encoding, or from a character cut at the end."""
    unreadable = sample.decode(errors="replace").count("\ufffd")
    return b"\0" in sample or unreadable > max(1, len(sample) // 10)
