"""Which addresses answers may be sent to: those that begin as the configuration allows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+")
"""The characters of an address; none of those that programs read differently."""
_PORTS = {"http": 80, "https": 443}


def is_allowed(url: str, beginnings: Iterable[str]) -> bool:
    """Whether an address has the scheme, host and port of one of these, and lies at or below its path."""
    wanted = _parts(url)
    return wanted is not None and any(_is_below(wanted, found) for found in map(_parts, beginnings) if found)


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url) if _PLAIN.fullmatch(url) else None
        if parts is None or parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
            return None
        _ = parts.port
    except ValueError:
        return None
    segments = re.split(r"/|%2f", parts.path.lower())
    is_plain = not any(each.replace("%2e", ".") in (".", "..") for each in segments)
    return parts if is_plain and not parts.fragment else None


def _is_below(wanted: SplitResult, allowed: SplitResult) -> bool:
    place, root = ((each.scheme, each.hostname, each.port or _PORTS.get(each.scheme)) for each in (wanted, allowed))
    path = allowed.path.rstrip("/")
    return place == root and (wanted.path == path or wanted.path.startswith(f"{path}/"))
