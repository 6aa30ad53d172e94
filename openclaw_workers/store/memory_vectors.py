"""The cache of embeddings: by model and by the hash of the text, the least recently used dropped first."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from hashlib import sha256

from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys


class MemoryVectors:
    def __init__(self, redis: Client, keys: Keys, *, max_entries: int) -> None:
        self._redis = redis
        self._keys = keys
        self._max_entries = max_entries

    def get(self, model: str, hashes: Sequence[str]) -> list[list[float] | None]:
        if not hashes:
            return []
        with store_errors():
            found = self._redis.hmget(self._keys.memory_vectors(_name(model)), list(hashes))
        known = [each for each, raw in zip(hashes, found, strict=True) if raw]
        if known:
            # Reading counts as use, or a vector that is wanted often would be dropped for its age.
            self._write(model, [part for each in known for part in (each, "")])
        return [_unpacked(str(raw)) if raw else None for raw in found]

    def put(self, model: str, vectors: dict[str, list[float]]) -> None:
        self._write(model, [part for each, vector in vectors.items() for part in (each, _packed(vector))])

    def _write(self, model: str, pairs: list[str]) -> None:
        name = _name(model)
        run_script(
            self._redis,
            "memory_vectors",
            keys={"vectors": self._keys.memory_vectors(name), "used": self._keys.memory_vectors_used(name)},
            args={"most": self._max_entries},
            more_args=pairs,
        )


def _name(model: str) -> str:
    return sha256(model.encode()).hexdigest()[:16]


def _packed(vector: Sequence[float]) -> str:
    """Half precision: a fifth of the size as text, and a cosine differs by less than a thousandth."""
    return base64.b64encode(struct.pack(f"<{len(vector)}e", *vector)).decode()


def _unpacked(raw: str) -> list[float]:
    data = base64.b64decode(raw)
    return list(struct.unpack(f"<{len(data) // 2}e", data))
