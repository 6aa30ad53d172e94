"""Our own documentation, which the read tool opens as `docs://...` on every host."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

PREFIX = "docs://"
_PLACES = (
    Path(__file__).parents[3] / "docs",  # a checkout
    Path(sys.prefix) / "share" / "openclaw-workers" / "docs",  # an installed wheel
)


@cache
def docs_dir() -> Path | None:
    return next((place for place in _PLACES if (place / "internals.md").is_file()), None)
