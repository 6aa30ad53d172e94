"""A short text that the children of a pool share with their parent: it must reach it although Redis is away."""

from __future__ import annotations

import mmap

MOST_BYTES = 65_536


class SharedText:
    """Make it before any fork. Whoever reads while another process writes may get parts of both texts."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, MOST_BYTES)

    def write(self, text: str) -> None:
        raw = text.encode()[: MOST_BYTES - 1] + b"\0"
        self._memory[: len(raw)] = raw

    def read(self) -> str:
        return self._memory[: self._memory.find(b"\0")].decode(errors="replace")
