"""What turns text into a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbedderUnavailable(Exception):
    """No vectors now; the text says why. Searches go by words alone."""


class Embedder(Protocol):
    provider: str
    model: str

    @property
    def dimensions(self) -> int:
        """The length of a vector. May ask the provider; raises EmbedderUnavailable."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length one for each text; raises EmbedderUnavailable."""


class VectorCache(Protocol):
    """Vectors that were computed before, by the hash of their text."""

    def get(self, model: str, hashes: Sequence[str]) -> list[list[float] | None]: ...

    def put(self, model: str, vectors: dict[str, list[float]]) -> None: ...
