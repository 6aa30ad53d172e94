"""Embedding endpoints share keys, cooldowns, limits and budgets with the models that answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.engine.memory import embedding_calls
from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.memory.scopes import Visibility
from tests.component.engine.conftest import MakeEngine
from tests.component.engine.memory_turns import workspace
from tests.support.embedding_server import EmbeddingServer, embedding_server

ALL = Visibility("main", (), sees_all=True)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, EmbeddingServer]]:
    with embedding_server() as running:
        yield running


def service_of(make: MakeEngine, url: str, provider: dict[str, Any], **more: Any) -> MemoryService:
    given = {"provider": "embedder", "model": "e-1", "cache": {"enabled": False}}
    models = {"providers": {"embedder": {"baseUrl": url, "api": "openai-completions", "apiKey": "one", **provider}}}
    engine = make({"agents": {"defaults": {"memorySearch": given}}, "models": models, **more})
    (workspace(engine) / "MEMORY.md").write_text("- the harbour is deep\n")
    return engine.built.memory.new_service()


def test_a_limit_of_the_provider_holds_and_a_search_does_not_wait_for_it(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, server = endpoint
    monkeypatch.setattr(embedding_calls, "QUERY_SECONDS", 0.3)
    service = service_of(make_engine, url, {"limits": {"requestsPerMinute": 3}})
    assert service.search("harbour", ALL, {})["mode"] == "hybrid"  # dimensions, the file, the query
    found = service.search("harbour deep", ALL, {})
    assert (found["mode"], len(server.keys)) == ("keyword", 3)
    assert "no key was free" in found["note"]
    assert found["results"]
    service.close()


def test_a_key_that_is_refused_rests_and_the_next_one_is_used(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer]
) -> None:
    url, server = endpoint
    profiles = [{"id": "a", "apiKey": "first-key"}, {"id": "b", "apiKey": "second-key"}]
    provider = {"authProfiles": profiles, "authOrder": ["a", "b"]}
    service = service_of(make_engine, url, {**provider, "apiKey": "one"})
    server.failures = [429]
    assert service.search("harbour", ALL, {})["mode"] == "hybrid"
    refused, *others = server.keys
    assert refused not in others, "it is in its cooldown"
    service.close()

    again = service_of(make_engine, url, provider)  # another process of the fleet
    assert again.search("harbour", ALL, {})["mode"] == "hybrid"
    assert server.keys.count(refused) == 1
    again.close()


def test_a_server_that_fails_once_is_asked_again(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer]
) -> None:
    url, server = endpoint
    service = service_of(make_engine, url, {})
    server.failures = [503]
    assert service.search("harbour", ALL, {})["mode"] == "hybrid"
    service.close()


def test_a_used_up_budget_leaves_search_by_words(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer]
) -> None:
    url, server = endpoint
    service = service_of(make_engine, url, {}, budgets={"day": {"calls": 3}})
    assert service.search("harbour", ALL, {})["mode"] == "hybrid"
    found = service.search("harbour deep", ALL, {})
    assert (found["mode"], len(server.keys)) == ("keyword", 3)
    assert "budget" in found["note"]
    service.close()


def test_keys_are_not_in_what_is_said_of_a_failure(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer]
) -> None:
    url, server = endpoint
    service = service_of(make_engine, url, {"apiKey": "very-secret-key"})
    server.failures = [401] * 3
    found = service.search("harbour", ALL, {})
    assert found["mode"] == "keyword"
    assert "very-secret-key" not in str(found)
    service.close()
