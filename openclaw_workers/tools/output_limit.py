"""How much a tool may tell a model in one answer. All tools use these limits; what is left out is always said.

Secrets are masked before a text is cut, so that none shows in part.
"""

from __future__ import annotations

from collections.abc import Iterable

from openclaw_workers.redaction import mask_after_cut, mask_before_cut, mask_known

MAX_OUTPUT_BYTES = 50 * 1024
"""The limit of one answer, unless a tool sets another."""
FRAME_BYTES = 2 * 1024
"""Room for what a tool says around its output, such as an exit code or where to continue."""


class HeadAndTail:
    """Keeps the first and the last part of a stream of any length, in bounded memory."""

    def __init__(self, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._half = max_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped_bytes = 0

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped_bytes += excess

    def skip(self, size_bytes: int) -> None:
        """Count what the stream held and nobody has."""
        self._dropped_bytes += size_bytes

    def text(self) -> str:
        if not self._dropped_bytes:
            return mask_known(_decode(self._head + self._tail))
        note = f"\n[... {self._dropped_bytes:,} bytes left out here ...]\n"
        return mask_before_cut(_decode(self._head)) + note + mask_after_cut(_decode(self._tail))


def _decode(data: bytearray) -> str:
    # A question mark is one byte, like the byte it replaces, so that invalid bytes do not exceed the size limit.
    return data.decode(errors="replace").replace("\ufffd", "?")


def limit_text(text: str, max_bytes: int = MAX_OUTPUT_BYTES) -> str:
    """The text; if it is longer than the limit, its start and its end with a note in between."""
    # A character has at most four bytes in UTF-8, so most texts need not be encoded to know their size.
    if len(text) * 4 <= max_bytes or len(data := text.encode(errors="replace")) <= max_bytes:
        return text
    kept = HeadAndTail(max_bytes)
    kept.add(data)
    return kept.text()


class LimitedLines:
    """Collects lines until their number or size reaches a limit."""

    def __init__(self, max_lines: int, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._max_lines = max_lines
        self._room = max_bytes
        self.lines: list[str] = []
        self.is_full = False

    def add(self, *lines: str) -> bool:
        """Add lines that belong together. If they do not all fit, none is added and the collection is full."""
        size = sum(len(line.encode(errors="replace")) + 1 for line in lines)
        if self.is_full or len(self.lines) + len(lines) > self._max_lines or size > self._room:
            self.is_full = True
            return False
        self.lines += lines
        self._room -= size
        return True

    def add_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            if not self.add(line):
                return


def shorten_line(line: str, max_chars: int = 500) -> str:
    """One line of a larger output, cut if it is very long."""
    line = mask_known(line)
    cut = len(line) - max_chars
    return line if cut <= 0 else f"{line[:max_chars]} [... {cut:,} more characters]"
