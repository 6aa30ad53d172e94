"""How many pages a PDF has: what an API counts for it depends on that, and not on its bytes."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from openclaw_workers.providers.attachments import MOST_PDF_BYTES

_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED: Final = re.compile(rb"/Type\s*/ObjStm\b[^\x00]{0,400}?stream\r?\n")
"""Where a newer file keeps its objects, compressed."""
_MOST_UNPACKED_BYTES: Final = 50_000_000
_PAGE_BYTES: Final = 20_000
"""Of a file that does not tell, such as an encrypted one: little for a page, so that hardly any has more."""


def pdf_pages(path: str) -> int:
    """Pages that a model is sent with this file; 0 if it is sent none, because the file is gone or too large."""
    try:
        found = Path(path).stat()
        return _pages(path, found.st_size, found.st_mtime_ns) if 0 < found.st_size <= MOST_PDF_BYTES else 0
    except OSError:
        return 0


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
