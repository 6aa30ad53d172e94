"""The body of a response, up to a number of bytes, also if it is compressed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from openclaw_workers.errors import ToolError

ACCEPTED_ENCODINGS = "gzip, deflate"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_ANY_ZLIB = 32 + zlib.MAX_WBITS
"""Recognises gzip and zlib by their first bytes."""


@dataclass(frozen=True, slots=True)
class Body:
    data: bytes
    is_cut: bool


def read_body(chunks: Iterable[bytes], encoding: str, max_bytes: int) -> Body:
    """Read at most `max_bytes`, unpacked. A small response that unpacks to gigabytes is never unpacked further.

    Raises:
        ToolError: its compression is unknown or broken.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return _read_plain(chunks, max_bytes)
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"the page is compressed in a way that is not understood: {encoding[:40]!r}")
    try:
        return _unpack(chunks, max_bytes)
    except zlib.error as error:
        raise ToolError(f"the page is compressed and cannot be unpacked: {error}") from error


def _read_plain(chunks: Iterable[bytes], max_bytes: int) -> Body:
    data = bytearray()
    for chunk in chunks:
        # One byte more than allowed shows that the page was cut.
        data += chunk[: max_bytes + 1 - len(data)]
        if len(data) > max_bytes:
            return Body(bytes(data[:max_bytes]), True)
    return Body(bytes(data), False)


def _unpack(chunks: Iterable[bytes], max_bytes: int) -> Body:
    data = bytearray()
    unpacker = None
    for chunk in chunks:
        if unpacker is None and chunk:
            # Some servers send `deflate` without the head that belongs to it.
            has_head = chunk[:1] in (b"\x1f", b"\x78")
            unpacker = zlib.decompressobj(_ANY_ZLIB if has_head else -zlib.MAX_WBITS)
        if unpacker is None:
            continue
        data += unpacker.decompress(chunk, max_bytes + 1 - len(data))
        if len(data) > max_bytes:
            return Body(bytes(data[:max_bytes]), True)
        if unpacker.eof:
            break
    return Body(bytes(data), False)


def decode_body(data: bytes, content_type: str) -> str:
    """The body of a text as its header says, or as UTF-8."""
    found = _CHARSET.search(content_type)
    try:
        # LookupError: the header names an encoding that Python does not know.
        return data.decode(found[1] if found else "utf-8-sig", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")
