"""What kind of file it is."""

from __future__ import annotations

import mimetypes
import re
from typing import Final

PDF: Final = "application/pdf"
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The images that models accept."""
MOST_IMAGE_BYTES: Final = 3_750_000
"""Both APIs accept five megabytes of base64."""
MOST_PDF_BYTES: Final = 15_000_000
"""Anthropic accepts 32 megabytes in one request, in base64 and including the conversation."""
SNIFFED_BYTES: Final = 16
"""How many bytes of a file are enough to recognise its kind."""

_BEGINNINGS: Final = {
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"RIFF.{4}WEBP": "image/webp",
    rb"%PDF-": PDF,
}


def media_type(name: str, beginning: bytes) -> str:
    """By its content where models are sent such files: an API refuses one that is not what it is said to be."""
    return shown_media_type(beginning) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def shown_media_type(beginning: bytes) -> str | None:
    """The type of an image or document that models can be sent, by its first bytes; None for any other file."""
    for pattern, kind in _BEGINNINGS.items():
        if re.match(pattern, beginning, re.DOTALL):
            return kind
    return None
