"""Searching past conversations: what a session may find, and that archives are kept in the index as long as on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.archives.transcript_files import sessions_dir
from openclaw_workers.engine.memory import transcripts
from openclaw_workers.memory.scopes import Visibility
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.memory_turns import serving, use
from tests.component.engine.test_memory_turns import reset_and_save
from tests.support.programs import as_text, program, say

ANN, GROUP = SessionKey("agent:main:telegram:dm:ann"), SessionKey("agent:main:telegram:group:7")
OTHER = SessionKey("agent:other:main")
SOON = {"deltaMessages": 1, "groups": ["*"]}
CONFIG: dict[str, Any] = {
    "agents": {
        "defaults": {"memorySearch": {"sessions": SOON}},
        "list": [{"id": "main", "default": True}, {"id": "other"}],
    }
}
ALL = Visibility("main", (), sees_all=True)
WORDS = {SESSION: "submarine", ANN: "balloon", GROUP: "glacier", OTHER: "volcano"}


@pytest.fixture
def talked(make_engine: MakeEngine) -> Iterator[EngineHarness]:
    """Four sessions of two agents, each with its own word."""
    with serving(make_engine(CONFIG)) as engine:
        for session, word in WORDS.items():
            engine.say(as_text(program(say(f"the secret word is {word}"))), session)
            engine.work()
        for agent in ("main", "other"):
            engine.built.memory.client.sync(agent)
        yield engine


def words_found(engine: EngineHarness, session: SessionKey, **given: Any) -> set[str]:
    found = use(engine, "sessions_search", session, query="secret word", limit=50, **given)
    assert found["status"] == "ok", found
    text = " ".join(result["snippet"] for result in found["results"])
    return {word for word in WORDS.values() if word in text}


def test_a_session_finds_what_it_may_see(talked: EngineHarness) -> None:
    assert words_found(talked, SESSION) == {"submarine", "balloon", "glacier"}
    assert words_found(talked, ANN) == {"balloon"}
    assert words_found(talked, GROUP) == {"glacier"}
    assert words_found(talked, OTHER) == {"volcano"}


def test_one_session_can_be_named_if_it_may_be_seen(talked: EngineHarness) -> None:
    assert words_found(talked, SESSION, sessionKey=ANN) == {"balloon"}
    for session, stranger in ((ANN, SESSION), (GROUP, SESSION), (SESSION, OTHER)):
        refused = use(talked, "sessions_search", session, query="secret word", sessionKey=stranger)
        assert (refused["status"], "results" in refused) == ("error", False)


def test_what_others_said_is_quoted(talked: EngineHarness) -> None:
    found = use(talked, "sessions_search", SESSION, query="balloon")
    assert found["results"][0]["snippet"].startswith("<<<UNTRUSTED_TEXT")
    assert found["results"][0]["sessionKey"] == ANN


def test_the_setting_of_the_session_tools_holds(make_engine: MakeEngine) -> None:
    with serving(make_engine({**CONFIG, "tools": {"sessions": {"visibility": "self"}}})) as engine:
        for session in (SESSION, ANN):
            engine.say(as_text(program(say(f"the secret word is {WORDS[session]}"))), session)
            engine.work()
        engine.built.memory.client.sync("main")
        assert words_found(engine, SESSION) == {"submarine"}


def test_it_is_there_only_with_memory(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"memorySearch": {"enabled": False}}}})
    engine.say(as_text(program(say("hi"))))
    assert "sessions_search" not in engine.built.preparer.prepare(engine.take(), []).setup.tools


def test_an_archived_conversation_is_found_until_its_file_is_removed(
    talked: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset_and_save(talked, SESSION)
    client = talked.built.memory.client
    assert words_found(talked, SESSION) >= {"submarine"}

    read: list[str] = []
    lines_of = transcripts.lines_of

    def noted(file: Path) -> list[str]:
        read.append(file.name)
        return lines_of(file)

    monkeypatch.setattr(transcripts, "lines_of", noted)
    client.sync("main")
    client.sync("main")
    assert read == [], "an archive that has not grown is not read again"

    for file in sessions_dir(talked.loaded.state_dir, "main").glob("*.jsonl"):
        file.unlink()
    client.sync("main")
    found = client.search("submarine", ALL, {"sources": ["sessions"], "maxResults": 50})["results"]
    assert not any("is submarine" in result["snippet"] for result in found)
