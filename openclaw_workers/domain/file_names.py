"""Names of files that others chose."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^\w.\- ]", re.UNICODE)


def plain_name(name: str) -> str:
    """A plain file name: no directories, no control characters, no brackets, nothing hidden."""
    return _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")[:100] or "file"
