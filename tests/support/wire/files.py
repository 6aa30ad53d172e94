"""Files in a request, in the form the APIs require."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection

PDF = ("application/pdf",)
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def is_base64(data: object) -> bool:
    try:
        return isinstance(data, str) and bool(base64.b64decode(data, validate=True))
    except binascii.Error:
        return False


def is_data_url(url: object, types: Collection[str]) -> bool:
    found = re.fullmatch(r"data:([a-z/]+);base64,(.*)", str(url))
    return found is not None and found[1] in types and is_base64(found[2])
