"""The wire-level server itself, where the providers do not use it yet."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from tests.support.wire import Failure, WireServer


# Left to itself the SDK asks for base64.
@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}])
def test_embeddings_come_through_the_sdk(server: WireServer, options: dict[str, Any]) -> None:
    client = openai.OpenAI(api_key="k", base_url=server.openai_url, max_retries=0)
    texts = ["the cat sat", "the cat ran", "quantum field theory"]
    made = client.embeddings.create(model="e", input=texts, **options)
    cat, other_cat, physics = (item.embedding for item in made.data)
    assert _dot(cat, cat) == pytest.approx(1, abs=1e-5)
    assert _dot(cat, other_cat) > _dot(cat, physics)
    assert server.requests[0].body["input"] == texts


def test_embeddings_can_fail_too(server: WireServer) -> None:
    server.script.append(Failure(429, "slow down", headers={"retry-after": "3"}))
    client = openai.OpenAI(api_key="k", base_url=server.openai_url, max_retries=0)
    with pytest.raises(openai.RateLimitError):
        client.embeddings.create(model="e", input="x")


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
