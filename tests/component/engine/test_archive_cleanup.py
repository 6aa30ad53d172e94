"""What is left on disk of a session that is over: its transcript, and of a deleted child no files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.retiring import retire
from openclaw_workers.engine.tree.child import files_dir
from openclaw_workers.store.tree import Tree
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.tree_builder import ask, child, settle
from tests.support.programs import as_text, program, say

FILES = [{"name": "notes.txt", "content": "aGk="}]


def retire_all(engine: EngineHarness) -> list[Path | None]:
    """As the service lane does."""
    found = []
    for archive_id in engine.stores.redis.hkeys(engine.stores.keys.archives):
        archive = engine.stores.sessions.archive(str(archive_id))
        assert archive is not None
        assert retire(engine.loaded, archive) == retire(engine.loaded, archive), "doing it twice changes nothing"
        found.append(retire(engine.loaded, archive))
        engine.stores.sessions.archived(str(archive_id))
    return found


@pytest.mark.parametrize(
    ("more", "workspace"),
    [({}, "workspace"), ({"workspaceDir": "part"}, "workspace/part"), ({"agentId": "b"}, "workspace-b")],
)
def test_a_child_that_is_cleaned_up_leaves_no_files(
    make_engine: MakeEngine, more: dict[str, Any], workspace: str
) -> None:
    agents = [{"id": "main", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]
    engine = make_engine({"agents": {"list": agents}})
    ask(engine, attachments=FILES, cleanup="delete", **more)
    folder = engine.loaded.state_dir / workspace / files_dir(child(engine).session_key)
    settle(engine)
    assert (folder / "1-notes.txt").exists()
    other = folder.parent / "another"
    other.mkdir()

    engine.sweeper.sweep()
    (path,) = retire_all(engine)

    assert not folder.exists()
    assert other.exists()
    assert path is not None
    assert "child's word" in path.read_text()


def test_a_child_that_is_spoken_to_just_before_it_goes_is_kept_until_it_has_answered(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(engine, cleanup="delete")
    session = child(engine).session_key
    settle(engine)
    look = Tree.batches

    def spoken_to_meanwhile(tree: Tree, key: SessionKey) -> Any:
        monkeypatch.setattr(Tree, "batches", look)
        engine.say(as_text(program(say("one more word"))), session)
        return look(tree, key)

    monkeypatch.setattr(Tree, "batches", spoken_to_meanwhile)
    engine.sweeper.sweep()
    assert engine.stores.reader.session(session) is not None
    engine.work()

    runs = [run for run in engine.stores.reader.runs() if run.session_key == session]
    assert [run.state for run in runs] == [RunState.OK, RunState.OK]
    assert runs[0].text == "one more word"


def test_a_child_that_begins_anew_keeps_its_files_until_it_is_deleted(engine: EngineHarness) -> None:
    ask(engine, attachments=FILES)
    session = child(engine).session_key
    folder = engine.loaded.state_dir / "workspace" / files_dir(session)
    settle(engine)

    engine.control.reset(session)
    retire_all(engine)
    assert folder.exists()

    engine.control.delete(session)
    assert retire_all(engine) == [None], "it has said nothing since"
    assert not folder.exists()


def test_nothing_is_removed_by_a_link_that_leads_elsewhere(engine: EngineHarness, tmp_path: Path) -> None:
    ask(engine, attachments=FILES)
    session = child(engine).session_key
    settle(engine)
    folder = engine.loaded.state_dir / "workspace" / files_dir(session)
    outside = tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)

    engine.control.delete(session)
    retire_all(engine)

    assert (outside / "1-notes.txt").exists()


def test_a_child_without_files_is_only_written_out(engine: EngineHarness) -> None:
    ask(engine, task=program(say("word")), cleanup="delete")
    settle(engine)
    engine.sweeper.sweep()

    (path,) = retire_all(engine)

    assert path is not None
    assert path.exists()


def test_what_an_agent_said_that_is_not_configured_any_more_is_written_out(make_engine: MakeEngine) -> None:
    agents = {"agents": {"list": [{"id": "main"}, {"id": "gone"}]}}
    before, session = make_engine(agents), SessionKey("agent:gone:main")
    before.say(as_text(program(say("last words"))), session)
    before.work()
    before.control.delete(session)

    (path,) = retire_all(make_engine())

    assert path is not None
    assert "last words" in path.read_text()
