"""Embeddings of an OpenAI-compatible endpoint: in batches, several at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openclaw_workers.memory.chunks import tokens_of
from openclaw_workers.memory.embedders.base import EmbedderUnavailable

BATCH_TOKENS = 8_000
BATCH_TEXTS = 256
CONCURRENT = 4
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class EndpointAccess:
    """How the endpoint is reached."""

    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    vectors: list[list[float]]
    tokens: int
    """What the call took."""


Ask = Callable[[EndpointAccess], Embedded]
CallWithKey = Callable[[int, Ask], Embedded]
"""Makes a call of about so many tokens with one key after the other, until one works.

Raises EmbedderUnavailable if none does."""


class EndpointEmbedder:
    def __init__(self, provider: str, model: str, call: CallWithKey) -> None:
        """`call` chooses the key, waits for limits, and records what the call took."""
        self.provider = provider
        self.model = model
        self._call_with_key = call
        self._clients: dict[EndpointAccess, Any] = {}

    @cached_property
    def dimensions(self) -> int:
        return len(self.embed(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # APIs refuse an empty text, and every text must get a vector.
        batches = list(_batches([text if text.strip() else "." for text in texts]))
        if len(batches) == 1:
            return self._call(batches[0])
        with ThreadPoolExecutor(CONCURRENT, thread_name_prefix="ocw-embed") as pool:
            return [vector for vectors in pool.map(self._call, batches) for vector in vectors]

    def _call(self, batch: list[str]) -> list[list[float]]:
        tokens = int(sum(map(tokens_of, batch)))
        return self._call_with_key(tokens, lambda access: self._ask(access, batch, tokens)).vectors

    def _ask(self, access: EndpointAccess, batch: list[str], tokens: int) -> Embedded:
        answer = self._client(access).embeddings.create(model=self.model, input=batch, encoding_format="float")
        if len(answer.data) != len(batch):
            raise EmbedderUnavailable(f"{self.provider}/{self.model} gave {len(answer.data)} of {len(batch)} vectors")
        usage = getattr(answer, "usage", None)
        # The order of the answer is not promised; the index is.
        vectors = [_unit(each.embedding) for each in sorted(answer.data, key=lambda each: each.index)]
        return Embedded(vectors, usage.total_tokens if usage else tokens)

    def _client(self, access: EndpointAccess) -> Any:
        import openai  # noqa: PLC0415 - heavy

        if access not in self._clients:
            self._clients[access] = openai.OpenAI(
                base_url=access.base_url,
                api_key=access.api_key,
                default_headers=dict(access.headers),
                timeout=TIMEOUT_SECONDS,
                max_retries=0,  # whoever chooses the keys repeats calls
            )
        return self._clients[access]


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    used = 0.0
    for text in texts:
        size = tokens_of(text)
        if batch and (used + size > BATCH_TOKENS or len(batch) >= BATCH_TEXTS):
            yield batch
            batch, used = [], 0.0
        batch.append(text)
        used += size
    if batch:
        yield batch


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
