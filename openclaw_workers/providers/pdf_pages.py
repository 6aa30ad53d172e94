"""Count the pages of a PDF: its token count depends on them and not on its bytes."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from openclaw_workers.domain.media_types import MOST_PDF_BYTES

_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED: Final = re.compile(rb"/Type\s*/ObjStm\b[^\x00]{0,400}?stream\r?\n")
"""A compressed object stream, as in newer files."""
# A small file can unpack to gigabytes; the limit holds for all its streams together.
_MOST_UNPACKED_BYTES: Final = 50_000_000
_PAGE_BYTES: Final = 20_000
"""Assumed bytes per page if the pages cannot be counted, as in an encrypted file. Low, to overestimate the pages."""


def pdf_pages(path: str) -> int:
    """The pages that are sent to a model; 0 if the file is missing or too large to send."""
    try:
        found = Path(path).stat()
        return _pages(path, found.st_size, found.st_mtime_ns) if 0 < found.st_size <= MOST_PDF_BYTES else 0
    except OSError:
        return 0


# Size and modification time are part of the key, so that a changed file is counted again.
@lru_cache(maxsize=256)
def _pages(path: str, size: int, _changed: int) -> int:
    data = Path(path).read_bytes()
    pages, left = len(_PAGE.findall(data)), _MOST_UNPACKED_BYTES
    for place in _PACKED.finditer(data):
        unpacked = _unpacked(data, place.end(), left)
        pages, left = pages + len(_PAGE.findall(unpacked)), left - len(unpacked)
        if left <= 0:
            break
    return pages or size // _PAGE_BYTES + 1


def _unpacked(data: bytes, start: int, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data[start:], most)
    except zlib.error:
        return b""
