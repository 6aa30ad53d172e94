"""Documents that tests index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.memory.chunks import chunk_markdown
from openclaw_workers.memory.index import Reading
from openclaw_workers.memory.scopes import SHARED


@dataclass
class Note:
    path: str
    text: str
    version: str = "1"
    source: str = "memory"
    time_ms: int = 0
    scope: str = SHARED
    reads: int = 0

    def read(self, known: Mapping[str, Any] | None) -> Reading | None:
        self.reads += 1
        return Reading(chunk_markdown(self.text, tokens=400, overlap=80), self.scope)


class BrokenEmbedder:
    """An embedder whose endpoint is down, until it is not."""

    provider = "broken"
    model = "m"
    dimensions = 4

    def __init__(self) -> None:
        self.is_down = True

    def embed(self, texts: Any) -> list[list[float]]:
        from openclaw_workers.memory.embedders.base import EmbedderUnavailable  # noqa: PLC0415

        if self.is_down:
            raise EmbedderUnavailable("connection refused")
        return [[1.0, 0.0, 0.0, float(len(text) % 3)] for text in texts]
