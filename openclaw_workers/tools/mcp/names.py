"""The names of an MCP server's tools as models see them: `server__tool`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

MAX_CHARS = 64
"""OpenAI accepts no longer names."""
SEPARATOR = "__"
_HASH_CHARS = 6


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """A name that every model API accepts, and that differs from those already taken."""
    wanted = f"{server}{SEPARATOR}{re.sub(r'[^A-Za-z0-9_-]', '_', tool) or '_'}"
    if len(wanted) <= MAX_CHARS and wanted not in taken:
        return wanted
    # Derived from the name, so that all workers give the tool the same one.
    mark = hashlib.sha256(tool.encode(errors="replace")).hexdigest()[:_HASH_CHARS]
    return f"{wanted[: MAX_CHARS - _HASH_CHARS - 1]}_{mark}"
