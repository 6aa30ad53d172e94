"""Memory in turns: saved, found, cited, and seen only by those who may."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.memory import client
from openclaw_workers.memory.scopes import peer_folder
from openclaw_workers.store.keys import MEMORY_NOTE
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.memory_turns import serving, snippets, use, workspace
from tests.support.programs import as_text, program, say

GROUP = SessionKey("agent:main:telegram:group:7")
ANN, BOB = SessionKey("agent:main:telegram:dm:ann"), SessionKey("agent:main:telegram:dm:bob")
OTHER = SessionKey("agent:other:main")
TWO_AGENTS = {"agents": {"list": [{"id": "main", "default": True}, {"id": "other"}]}}


@pytest.fixture
def served(engine: EngineHarness) -> Iterator[EngineHarness]:
    with serving(engine):
        yield engine


def test_what_is_saved_is_found_with_its_source(served: EngineHarness) -> None:
    saved = use(served, "memory_write", content="- the boat is called Perihelion", path="MEMORY.md")
    today = use(served, "memory_write", content="- bought paint for the boat")
    found = use(served, "memory_search", query="name of the boat Perihelion")

    assert (saved["path"], saved["startLine"]) == ("MEMORY.md", 1)
    assert today["path"] == f"memory/{datetime.now():%Y-%m-%d}.md"
    first = found["results"][0]
    assert (first["path"], first["citation"], first["source"]) == ("MEMORY.md", "MEMORY.md#L1", "memory")
    assert first["snippet"].endswith("Source: MEMORY.md#L1")
    assert (found["mode"], found["provider"], found["backend"]) == ("hybrid", "offline", "embedded")
    got = use(served, "memory_get", SESSION, path="MEMORY.md", lines=1, **{"from": 1})
    assert got == {"path": "MEMORY.md", "text": "- the boat is called Perihelion", "from": 1, "totalLines": 1}


def test_a_repeated_write_adds_nothing_twice(served: EngineHarness) -> None:
    for _ in range(2):
        use(served, "memory_write", content="- only once", path="MEMORY.md")

    assert (workspace(served) / "MEMORY.md").read_text() == "- only once\n"


@pytest.mark.parametrize("path", ["notes.md", "../other.md", "memory/x.txt", "/etc/passwd", "memory", "SOUL.md"])
def test_only_memory_paths_are_read_and_written(served: EngineHarness, path: str) -> None:
    place = workspace(served) / "notes.md"
    place.write_text("not memory")

    assert "error" in use(served, "memory_get", path=path)
    assert "error" in use(served, "memory_write", content="x", path=path)
    assert place.read_text() == "not memory"


def test_two_agents_never_see_each_others_memory(make_engine: MakeEngine) -> None:
    with serving(make_engine(TWO_AGENTS)) as engine:
        for session in (SESSION, OTHER):
            use(engine, "memory_write", session, content=f"- the shared secret is known to {session}", path="MEMORY.md")
        for session, stranger in ((SESSION, OTHER), (OTHER, SESSION)):
            said = snippets(use(engine, "memory_search", session, query="shared secret known"))
            assert session in said
            assert stranger not in said
        theirs = workspace(engine, "other") / "MEMORY.md"
        assert "error" in use(engine, "memory_get", path=str(theirs))
        assert "error" in use(engine, "memory_write", content="x", path=str(theirs))
        assert "error" in use(engine, "memory_get", path=f"../{theirs.parent.name}/MEMORY.md")


def test_direct_chats_apart_from_each_other_have_notes_of_their_own(served: EngineHarness) -> None:
    (workspace(served) / "MEMORY.md").write_text("- the office opens at nine\n")
    for session, word in ((ANN, "violet"), (BOB, "orange")):
        saved = use(served, "memory_write", session, content=f"- favourite colour {word}", path="MEMORY.md")
        assert saved["path"] == f"memory/peers/{peer_folder(session)}/MEMORY.md"

    for session, own, other in ((ANN, "violet", "orange"), (BOB, "orange", "violet")):
        said = snippets(use(served, "memory_search", session, query="favourite colour; when does the office open"))
        assert own in said
        assert "nine" in said
        assert other not in said
    bobs = f"memory/peers/{peer_folder(BOB)}/MEMORY.md"
    assert "orange" in use(served, "memory_get", BOB, path="MEMORY.md")["text"]
    for session in (ANN, SESSION, GROUP):
        assert "error" in use(served, "memory_get", session, path=bobs)
        assert "error" in use(served, "memory_write", session, content="x", path=bobs)
        assert "orange" not in snippets(use(served, "memory_search", session, query="favourite colour orange"))


def reset_and_save(engine: EngineHarness, session: SessionKey) -> None:
    engine.control.reset(session)
    engine.archive_all()
    (kind,) = [kind for kind in engine.built.due_kinds if kind.prefix == MEMORY_NOTE]
    for item in map(str, engine.stores.redis.zrange(engine.stores.keys.due, 0, -1)):
        if item.startswith(MEMORY_NOTE):
            kind.handle(item.removeprefix(MEMORY_NOTE))
    for session_id in engine.waker.notes:
        engine.built.session_notes.save(session_id)
    engine.waker.notes.clear()


def test_a_reset_conversation_is_saved_and_seen_by_its_own_session_alone(served: EngineHarness) -> None:
    for session, word in ((SESSION, "submarine"), (ANN, "balloon"), (GROUP, "glacier")):
        served.say(as_text(program(say(f"noted: {word}"))), session)
        served.work()
        reset_and_save(served, session)

    folder = workspace(served) / "memory"
    (note,) = folder.glob("*.md")
    assert "noted: submarine" in note.read_text()
    assert len(list((folder / "peers" / peer_folder(ANN)).glob("*.md"))) == 1
    assert "glacier" not in "".join(path.read_text() for path in folder.rglob("*.md"))  # groups are not saved
    words = "submarine balloon glacier"
    assert "submarine" in snippets(use(served, "memory_search", SESSION, query=words))
    assert "balloon" in snippets(use(served, "memory_search", ANN, query=words))
    for session, foreign in ((SESSION, "balloon"), (ANN, "submarine"), (GROUP, "submarine"), (GROUP, "balloon")):
        found = use(served, "memory_search", session, query=f"noted {foreign}")
        assert f"noted: {foreign}" not in snippets(found)
    assert "error" in use(served, "memory_get", GROUP, path=f"memory/{note.name}")


def test_a_conversation_is_saved_once(served: EngineHarness) -> None:
    served.say(as_text(program(say("hello"))))
    served.work()
    session_id = served.stores.reader.row(SESSION)["sessionId"]
    reset_and_save(served, SESSION)
    served.stores.redis.hdel(served.stores.keys.memory_note(session_id), "done")  # as if it died before saying so

    served.built.session_notes.save(session_id)

    assert len(list((workspace(served) / "memory").glob("*.md"))) == 1


def test_no_notes_where_they_are_switched_off(make_engine: MakeEngine) -> None:
    with serving(make_engine({"memory": {"sessionNotes": False}})) as engine:
        engine.say(as_text(program(say("hello"))))
        engine.work()
        reset_and_save(engine, SESSION)

        assert list((workspace(engine) / "memory").glob("*.md")) == []


def test_a_sandboxed_group_sees_the_files_its_sandbox_allows(make_engine: MakeEngine) -> None:
    for access, sees in (("none", False), ("ro", True)):
        sandbox = {"mode": "non-main", "workspaceAccess": access}
        tools = {"sandbox": {"tools": {"allow": ["group:memory"]}}}
        with serving(make_engine({"agents": {"defaults": {"sandbox": sandbox}}, "tools": tools})) as engine:
            (workspace(engine) / "MEMORY.md").write_text("- the vault is green\n")
            assert ("green" in snippets(use(engine, "memory_search", GROUP, query="vault green"))) is sees
            assert ("error" in use(engine, "memory_get", GROUP, path="MEMORY.md")) is not sees
            assert "error" in use(engine, "memory_write", GROUP, content="x")
            assert "green" in snippets(use(engine, "memory_search", query="vault green"))


@pytest.mark.parametrize(
    ("mode", "session", "cited"),
    [("auto", SESSION, True), ("auto", GROUP, False), ("on", GROUP, True), ("off", SESSION, False)],
)
def test_sources_are_named_as_set(make_engine: MakeEngine, mode: str, session: SessionKey, cited: bool) -> None:
    with serving(make_engine({"memory": {"citations": mode}})) as engine:
        (workspace(engine) / "MEMORY.md").write_text("- the tower is tall\n")
        (result,) = use(engine, "memory_search", session, query="tower")["results"]
        assert ("citation" in result, "Source:" in result["snippet"]) == (cited, cited)


@pytest.mark.parametrize(("is_reported", "session"), [(True, SESSION), (False, GROUP), (True, GROUP)])
def test_personal_files_are_in_prompts_of_groups_only_if_set(
    make_engine: MakeEngine, is_reported: bool, session: SessionKey
) -> None:
    engine = make_engine({"memory": {"inGroupPrompts": is_reported and session == GROUP}})
    place = workspace(engine)
    for name in ("MEMORY.md", "USER.md", "SOUL.md"):
        (place / name).write_text(f"text of {name}")
    engine.say(as_text(program(say("hi"))), session)
    system = engine.built.preparer.prepare(engine.take(session), []).setup.system

    assert "text of SOUL.md" in system
    assert [f"text of {name}" in system for name in ("MEMORY.md", "USER.md")] == [is_reported, is_reported]


def test_without_an_owner_the_result_says_why(engine: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SEARCH_SECONDS", 0.2)

    found = use(engine, "memory_search", query="anything")

    assert found["results"] == []
    assert "no service worker owns the memory index" in found["unavailable"]
