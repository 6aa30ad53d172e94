"""File names chosen by others, made safe."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^\w.\- ]", re.UNICODE)


def safe_file_name(name: str) -> str:
    """Reduce a name to a plain file name: no directories, control characters or brackets, and not hidden."""
    return _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")[:100] or "file"
