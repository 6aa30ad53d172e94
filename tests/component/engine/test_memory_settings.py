"""Each setting of memory does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.engine.memory.watch import LOOK_SECONDS, ChangeWatch
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.store.llm.ledger import Ledger
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.memory_turns import workspace
from tests.support.embedding_server import embedding_server
from tests.support.programs import as_text, program, say
from tests.support.qdrant_server import qdrant_server

ALL = Visibility("main", (), sees_all=True)
GROUP = SessionKey("agent:main:telegram:group:7")
FILES = {
    "MEMORY.md": "- the harbour is deep\n",
    "memory/2020-05-05.md": "- the harbour market sells fish, fish and fish\n",
    "memory/2026-05-05.md": "- the harbour market sells fish and bread\n",
    "memory/plain.md": "- a lighthouse stands on the cliff\n",
    "extra/handbook.md": "- the anchor weighs nine tons\n",
}


@contextmanager
def service_of(
    make_engine: MakeEngine, given: dict[str, Any], **more: Any
) -> Iterator[tuple[EngineHarness, MemoryService]]:
    engine = make_engine({"agents": {"defaults": {"memorySearch": given}}, **more})
    place = workspace(engine)
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    service = engine.built.memory.new_service()
    try:
        yield engine, service
    finally:
        service.close()


def paths(service: MemoryService, query: str, **asked: Any) -> list[str]:
    return [result["path"] for result in service.search(query, ALL, asked)["results"]]


def hybrid(**given: Any) -> dict[str, Any]:
    return {"query": {"hybrid": given}}


@pytest.mark.parametrize(
    ("given", "query", "found"),
    [
        ({}, "harbour market fish", ["memory/2020-05-05.md", "memory/2026-05-05.md", "MEMORY.md"]),
        ({"query": {"maxResults": 1}}, "harbour market fish", ["memory/2020-05-05.md"]),
        ({"query": {"minScore": 1.0}}, "harbour market fish", []),
        ({"provider": "none"}, "lighthouse", ["memory/plain.md"]),
        ({"sources": ["sessions"]}, "harbour", []),
        ({"extraPaths": ["extra"], "provider": "none"}, "anchor", ["extra/handbook.md"]),
        ({"provider": "none"}, "anchor", []),
        (hybrid(vectorWeight=0.0, textWeight=1.0), "lighthouse", ["memory/plain.md"]),
        (hybrid(textWeight=0.0, vectorWeight=1.0, candidateMultiplier=1) | {}, "lighthouse", None),
    ],
)
def test_a_search_follows_the_settings(
    make_engine: MakeEngine, given: dict[str, Any], query: str, found: list[str] | None
) -> None:
    with service_of(make_engine, given) as (_, service):
        seen = paths(service, query)
        if found is None:
            assert seen[0] == "memory/plain.md"
        else:
            assert seen[: len(found) or 1] == found
            assert len(seen) == len(found) or given == {}


def test_age_and_repetition_count_if_set(make_engine: MakeEngine) -> None:
    decay = hybrid(temporalDecay={"enabled": True, "halfLifeDays": 100.0}, vectorWeight=0.0)
    with service_of(make_engine, decay) as (_, service):
        assert paths(service, "harbour market fish").index("memory/2020-05-05.md") > 0
    varied = hybrid(mmr={"enabled": True, "lambda": 0.3}, vectorWeight=0.0)
    with service_of(make_engine, varied) as (_, service):
        assert paths(service, "harbour market fish")[1] == "MEMORY.md"


def test_meaning_alone_if_words_are_switched_off(make_engine: MakeEngine) -> None:
    with service_of(make_engine, hybrid(enabled=False)) as (_, service):
        assert service.search("lighthouse", ALL, {})["mode"] == "vector"


def test_candidates_are_as_many_as_set(make_engine: MakeEngine) -> None:
    with service_of(make_engine, hybrid(candidateMultiplier=1, vectorWeight=0.0)) as (_, service):
        assert len(paths(service, "harbour market fish", maxResults=2)) == 2


def test_chunks_have_the_set_size_and_another_size_is_another_index(make_engine: MakeEngine) -> None:
    long = "\n".join(f"line {number} of the long tale about the whale" for number in range(60))
    names = []
    for chunking, chunks in (({"tokens": 400, "overlap": 80}, 2), ({"tokens": 50, "overlap": 0}, 12)):
        with service_of(make_engine, {"chunking": chunking, "sources": ["memory"]}) as (engine, service):
            for path in workspace(engine).rglob("*.md"):
                path.unlink()
            (workspace(engine) / "MEMORY.md").write_text(long)
            service.sync("main")
            status = service.status("main")
            assert abs(status["chunks"] - chunks) <= 1
            names.append(status["collection"])
            kept = [path.name for path in (engine.loaded.state_dir / "memory" / "index").glob("ocw_*")]
            assert kept == [status["collection"]]  # the old one was removed when the new one was complete
    assert names[0] != names[1]


def test_an_old_index_is_searched_until_the_new_one_is_complete(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service_of(make_engine, {}) as (_, service):
        service.sync("main")
    with service_of(make_engine, {"chunking": {"tokens": 100}}) as (_, service):
        monkeypatch.setattr(MemoryService, "_sync", lambda self, opened, **_: _Nothing())
        found = service.search("lighthouse", ALL, {})

        assert found["results"][0]["path"] == "memory/plain.md"
        assert (found["mode"], "being built again" in found["note"]) == ("keyword", True)


class _Nothing:
    unembedded = ""


def test_files_are_indexed_on_search_only_if_set(make_engine: MakeEngine) -> None:
    for on_search in (True, False):
        with service_of(make_engine, {"sync": {"onSearch": on_search}}) as (engine, service):
            service.sync("main")
            name = f"memory/new-{on_search}.md"
            (workspace(engine) / name).write_text("- the pier burned down\n")
            assert (name in paths(service, "pier burned")) is on_search


def test_a_session_start_asks_for_a_sync_only_if_set(make_engine: MakeEngine) -> None:
    for on_start in (True, False):
        engine = make_engine({"agents": {"defaults": {"memorySearch": {"sync": {"onSessionStart": on_start}}}}})
        session = SessionKey(f"agent:main:{'x' if on_start else 'y'}")
        engine.say(as_text(program(say("hi"))), session)
        engine.work()
        place = engine.built.archives.place_id
        assert engine.stores.memory.wanted(place) == (["main"] if on_start else [])


class _Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("sync", "due"),
    [
        ({"watch": True, "watchDebounceMs": 3_000}, [False, False, True, False]),
        ({"watch": True, "watchDebounceMs": 0}, [False, True, False, False]),
        ({"watch": False}, [False] * 4),
        ({"watch": False, "intervalMinutes": 1}, [True, False, False, False]),
    ],
)
def test_changes_are_noticed_as_set(make_engine: MakeEngine, sync: dict[str, Any], due: list[bool]) -> None:
    engine = make_engine({"agents": {"defaults": {"memorySearch": {"sync": sync}}}})
    (workspace(engine) / "MEMORY.md").write_text("x")
    clock = _Clock()
    watch = ChangeWatch(engine.built.agents, ["main"], engine.loaded.state_dir, clock)
    seen = []
    for _ in due:
        seen.append(watch.due() == ["main"])
        clock.now += LOOK_SECONDS
    assert seen == due


def test_memory_can_be_switched_off(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"memorySearch": {"enabled": False}}}})
    engine.say(as_text(program(say("hi"))))
    setup = engine.built.preparer.prepare(engine.take(), []).setup

    assert not any(name.startswith("memory_") for name in setup.tools)
    assert "Memory Recall" not in setup.system


@pytest.mark.parametrize(
    ("sessions", "session", "indexed"),
    [
        ({"deltaMessages": 2}, SESSION, True),
        ({"deltaMessages": 50}, SESSION, False),
        ({"deltaMessages": 50, "deltaBytes": 10}, SESSION, True),
        ({"deltaMessages": 2}, GROUP, False),
        ({"deltaMessages": 2, "groups": ["7"]}, GROUP, True),
        ({"deltaMessages": 2}, SessionKey("agent:main:subagent:abc"), False),
        ({"deltaMessages": 2, "subagents": True}, SessionKey("agent:main:subagent:abc"), True),
    ],
)
def test_transcripts_are_indexed_as_set(
    make_engine: MakeEngine, sessions: dict[str, Any], session: SessionKey, indexed: bool
) -> None:
    with service_of(make_engine, {"sessions": sessions}) as (engine, service):
        engine.say(as_text(program(say("the walrus sings; my key is sk-abcdefgh12345678"))), session)
        engine.work()
        results = service.search("walrus sings", ALL, {"sources": ["sessions"]})["results"]

        assert bool(results) is indexed
        assert "sk-abcdefgh12345678" not in str(results)


def endpoint(url: str, **given: Any) -> dict[str, Any]:
    return {"provider": "embedder", "model": "e-1", **given}


def test_an_endpoint_embeds_in_batches_and_its_calls_are_recorded(make_engine: MakeEngine) -> None:
    with embedding_server() as (url, server):
        models = {"providers": {"embedder": {"baseUrl": url, "api": "openai-completions", "apiKey": "k"}}}
        with service_of(make_engine, endpoint(url), models=models) as (engine, service):
            server.failures = [500]  # the call is repeated
            found = service.search("lighthouse", ALL, {})
            assert (found["provider"], found["model"], found["mode"]) == ("embedder", "e-1", "hybrid")
            assert sorted(map(len, server.batches)) == [1, 1, 4]  # dimensions, the query, all files together
            calls = list(Ledger(engine.stores.redis, engine.stores.keys).calls())
            assert {(call.provider, call.model, call.agent) for call in calls} == {("embedder", "e-1", "main")}
        auto = {"provider": "auto", "model": "embedder/e-2"}
        with service_of(make_engine, auto, models=models) as (_, service):
            assert service.search("lighthouse", ALL, {})["model"] == "e-2"


@pytest.mark.parametrize(("cache", "again"), [({}, 0), ({"enabled": False}, 1), ({"maxEntries": 1}, 1)])
def test_what_was_embedded_before_is_not_embedded_again(
    make_engine: MakeEngine, cache: dict[str, Any], again: int
) -> None:
    with embedding_server() as (url, server):
        models = {"providers": {"embedder": {"baseUrl": url, "api": "openai-completions", "apiKey": "k"}}}
        with service_of(make_engine, endpoint(url, cache=cache), models=models) as (_, service):
            service.sync("main")
            asked = sum(len(batch) > 1 for batch in server.batches)
            service.sync("main", force=True)
            assert sum(len(batch) > 1 for batch in server.batches) - asked == again


def test_a_dead_endpoint_leaves_search_by_words_and_the_reason(make_engine: MakeEngine) -> None:
    models = {
        "providers": {"embedder": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k"}}
    }
    with service_of(make_engine, endpoint(""), models=models) as (_, service):
        found = service.search("lighthouse", ALL, {})

        assert (found["mode"], found["results"][0]["path"]) == ("keyword", "memory/plain.md")
        assert "embedder/e-1 did not embed" in found["note"]


def test_a_server_is_used_with_its_key(make_engine: MakeEngine, tmp_path: Path) -> None:
    with qdrant_server("pass") as (url, server):
        given = {"qdrant": {"url": url, "apiKey": "pass"}}
        with service_of(make_engine, {}, **given) as (engine, service):
            assert paths(service, "lighthouse")[0] == "memory/plain.md"
            assert service.search("lighthouse", ALL, {})["backend"] == "server"
            assert len(server.collections) == 1
            assert not (engine.loaded.state_dir / "memory" / "index").exists()
            found = engine.built.memory.access.search("lighthouse", ALL, {})  # any worker, without asking another
            assert found["results"][0]["path"] == "memory/plain.md"
