"""Embeddings of an OpenAI-compatible endpoint: in batches, several at a time, repeated when they fail."""

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
RETRIES = 3
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class EndpointAccess:
    """How the endpoint is reached."""

    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...] = ()


class EndpointEmbedder:
    def __init__(
        self,
        provider: str,
        model: str,
        keys: Sequence[EndpointAccess],
        *,
        record: Callable[[int], None] = lambda tokens: None,
    ) -> None:
        """`keys` are tried in this order; `record` is told the tokens of each call."""
        self.provider = provider
        self.model = model
        self._keys = keys
        self._record = record

    @cached_property
    def dimensions(self) -> int:
        return len(self.embed(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        batches = list(_batches([text if text.strip() else "." for text in texts]))
        if len(batches) == 1:
            return self._call(batches[0])
        with ThreadPoolExecutor(CONCURRENT, thread_name_prefix="ocw-embed") as pool:
            return [vector for vectors in pool.map(self._call, batches) for vector in vectors]

    def _call(self, batch: list[str]) -> list[list[float]]:
        import openai  # noqa: PLC0415 - heavy

        failures: list[str] = []
        for client in self._clients:
            try:
                return self._ask(client, batch)
            except openai.OpenAIError as error:
                failures.append(str(error))
        raise EmbedderUnavailable(f"{self.provider}/{self.model} did not embed: {' | '.join(failures)}")

    def _ask(self, client: Any, batch: list[str]) -> list[list[float]]:
        answer = client.embeddings.create(model=self.model, input=batch, encoding_format="float")
        if len(answer.data) != len(batch):
            raise EmbedderUnavailable(f"{self.provider}/{self.model} gave {len(answer.data)} of {len(batch)} vectors")
        usage = getattr(answer, "usage", None)
        self._record(usage.total_tokens if usage else int(sum(map(tokens_of, batch))))
        return [_unit(each.embedding) for each in sorted(answer.data, key=lambda each: each.index)]

    @cached_property
    def _clients(self) -> list[Any]:
        import openai  # noqa: PLC0415 - heavy

        return [
            openai.OpenAI(
                base_url=key.base_url,
                api_key=key.api_key,
                default_headers=dict(key.headers),
                timeout=TIMEOUT_SECONDS,
                max_retries=RETRIES,
            )
            for key in self._keys
        ]


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
