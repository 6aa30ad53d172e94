"""Two agents with the same text: neither reaches anything of the other, by any path of memory or skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.memory.scopes import Visibility
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.memory_turns import serving, use, workspace
from tests.component.engine.test_memory_turns import reset_and_save
from tests.component.skills.conftest import put
from tests.support.embedding_server import EmbeddingServer, embedding_server
from tests.support.programs import as_text, call, execute, program, say

OTHER = SessionKey("agent:other:main")
PAIRS = ((SESSION, OTHER), (OTHER, SESSION))
SAME = "- the vault code is kept in the green box\n"


@pytest.fixture
def endpoint() -> Iterator[tuple[str, EmbeddingServer]]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def agents(
    make_engine: MakeEngine, endpoint: tuple[str, EmbeddingServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EngineHarness]:
    """Two agents, one embedding endpoint with one cache, and the same words in both memories."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    provider = {"baseUrl": endpoint[0], "api": "openai-completions", "apiKey": "k"}
    searching = {"provider": "embedder", "model": "e-1", "sessions": {"deltaMessages": 1}}
    config = {
        "agents": {
            "defaults": {"memorySearch": searching},
            "list": [{"id": "main", "default": True}, {"id": "other"}],
        },
        "models": {"providers": {"embedder": provider}},
        "skills": {"allowBundled": [], "load": {"watchDebounceMs": 0}, "entries": {"of-main": {"env": {"KEY": "m"}}}},
    }
    with serving(make_engine(config)) as engine:
        for agent in ("main", "other"):
            (workspace(engine, agent) / "MEMORY.md").write_text(SAME)
            put(engine.loaded.state_dir / "agents" / agent / "skills", f"of-{agent}")
        yield engine


def files_of(engine: EngineHarness, session: SessionKey) -> Path:
    return workspace(engine, session.split(":")[1])


def files_found(engine: EngineHarness, session: SessionKey) -> list[str]:
    found = use(engine, "memory_search", session, query="vault code green box")
    assert found["mode"] == "hybrid"
    return [result["path"] for result in found["results"] if result["source"] == "memory"]


def test_search_finds_only_its_own_although_the_vectors_are_shared(
    agents: EngineHarness, endpoint: tuple[str, EmbeddingServer]
) -> None:
    assert files_found(agents, SESSION) == files_found(agents, OTHER) == ["MEMORY.md"]
    asked = [text for batch in endpoint[1].batches for text in batch if "vault code is kept" in text]
    assert len(asked) == 1, "the second agent's vector comes from the cache"
    (workspace(agents, "other") / "MEMORY.md").unlink()
    agents.built.memory.client.sync("other")
    assert files_found(agents, OTHER) == []
    assert files_found(agents, SESSION) == ["MEMORY.md"]


def test_files_are_read_and_written_only_at_home(agents: EngineHarness) -> None:
    for session, stranger in PAIRS:
        theirs = files_of(agents, stranger)
        for path in (str(theirs / "MEMORY.md"), f"../{theirs.name}/MEMORY.md", f"memory/../../{theirs.name}/MEMORY.md"):
            assert "error" in use(agents, "memory_get", session, path=path)
            assert "error" in use(agents, "memory_write", session, content="- intruder", path=path)
        assert "intruder" not in (theirs / "MEMORY.md").read_text()
        use(agents, "memory_write", session, content=f"- written by {session}", path="MEMORY.md")
        assert session in (files_of(agents, session) / "MEMORY.md").read_text()
    for session, stranger in PAIRS:
        assert stranger not in (files_of(agents, session) / "MEMORY.md").read_text()


def test_transcripts_and_saved_conversations_stay_with_their_agent(agents: EngineHarness) -> None:
    for session, _ in PAIRS:
        agents.say(as_text(program(say(f"the same story, told to {session}"))), session)
        agents.work()
        agents.built.memory.client.sync(session.split(":")[1])
    for session, stranger in PAIRS:
        for tool in ("memory_search", "sessions_search"):
            said = str(use(agents, tool, session, query="the same story told")["results"])
            assert f"told to {session}" in said
            assert f"told to {stranger}" not in said
        reset_and_save(agents, session)
    for session, stranger in PAIRS:
        said = str(use(agents, "memory_search", session, query="the same story told", maxResults=50)["results"])
        assert f"told to {session}" in said
        assert f"told to {stranger}" not in said
        everything = agents.built.memory.client.search(
            "the same story told", Visibility(session.split(":")[1], (), sees_all=True), {"maxResults": 50}
        )
        assert f"told to {stranger}" not in str(everything["results"])


def test_skills_their_files_variables_and_commands_stay_with_their_agent(agents: EngineHarness) -> None:
    agents.built.skill_publisher.publish()
    for session, stranger in PAIRS:
        own, theirs = (key.split(":")[1] for key in (session, stranger))
        path = agents.loaded.state_dir / "agents" / theirs / "skills" / f"of-{theirs}" / "SKILL.md"
        calls = call({"tool": "read", "input": {"path": str(path)}}), call(execute('echo "[$KEY]"'))
        agents.say(as_text(program(*calls, say("done"))), session)
        agents.work()
        read, shown = [entry.text for entry in agents.log(session) if isinstance(entry, ToolResultEntry)]
        assert "outside the workspace" in read
        assert ("[m]" in shown) is (own == "main")
        row = agents.stores.reader.session(session)
        assert row is not None
        assert row.skills_snapshot is not None
        assert [skill.name for skill in row.skills_snapshot.skills] == [f"of-{own}"]
        assert [each.skill for each in agents.stores.skill_commands.of_agent(own)] == [f"of-{own}"]
