"""The Embeddings API: vectors that depend on the words alone."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

DIMENSIONS = 32


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    size = body.get("dimensions") or DIMENSIONS
    plain = body.get("encoding_format") == "float"
    data = [
        {"object": "embedding", "index": index, "embedding": vector if plain else _packed(vector)}
        for index, vector in enumerate(_vector(text, size) for text in texts)
    ]
    tokens = sum(len(str(text)) // 4 + 1 for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _vector(text: Any, size: int) -> list[float]:
    """Each word adds to a few places, so that texts with words in common are near each other."""
    vector = [0.0] * size
    for word in str(text).lower().split():
        for byte in hashlib.sha256(word.encode()).digest()[:4]:
            vector[byte % size] += 1.0
    length = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / length for value in vector]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
