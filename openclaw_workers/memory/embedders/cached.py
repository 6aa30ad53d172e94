"""An embedder that asks only for texts whose vectors are not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from openclaw_workers.memory.embedders.base import Embedder, VectorCache


class CachedEmbedder:
    def __init__(self, inner: Embedder, cache: VectorCache) -> None:
        self.provider = inner.provider
        self.model = inner.model
        self._inner = inner
        self._cache = cache

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        hashes = [sha256(text.encode()).hexdigest() for text in texts]
        # Part of the key: vectors of two models cannot be compared.
        name = f"{self.provider}/{self.model}"
        known = dict(zip(hashes, self._cache.get(name, hashes), strict=True))
        missing = {each: text for each, text in zip(hashes, texts, strict=True) if known[each] is None}
        if missing:
            made = dict(zip(missing, self._inner.embed(list(missing.values())), strict=True))
            self._cache.put(name, made)
            known.update(made)
        return [vector for each in hashes if (vector := known[each]) is not None]
