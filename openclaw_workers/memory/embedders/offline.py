"""The offline embedder: static word vectors from the wordllama wheel. No network, no key, little memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from openclaw_workers.memory.embedders.base import EmbedderUnavailable

BATCH = 512


class OfflineEmbedder:
    provider = "offline"
    model = "wordllama-256"
    dimensions = 256

    def __init__(self) -> None:
        self._loading = Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        with self._loading:
            model = self._model
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [text if text.strip() else "." for text in texts[start : start + BATCH]]
            vectors += model.embed(batch, norm=True).tolist()
        return vectors

    @cached_property
    def _model(self) -> Any:
        try:
            import wordllama  # noqa: PLC0415 - heavy
        except ImportError as error:
            why = "the wheel `wordllama` is not installed (there is none for Python 3.14 and later)"
            raise EmbedderUnavailable(why) from error
        # The wheel holds the weights, but looks for its tokenizer in another folder and would download it.
        folder = Path(wordllama.__file__).parent
        try:
            return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        except Exception as error:
            raise EmbedderUnavailable(f"wordllama cannot be loaded: {error}") from error
