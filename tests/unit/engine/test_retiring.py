"""What is left on disk of a session that is over: its transcript, and of a deleted child no files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.engine.children import files_dir
from openclaw_workers.engine.retiring import retire
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.runs import RunState
from openclaw_workers.store.tree import Tree
from tests.support.programs import as_text, program, say
from tests.unit.engine.conftest import House, MakeHouse
from tests.unit.engine.tree_talk import ask, child, settle

FILES = [{"name": "notes.txt", "content": "aGk="}]


def retire_all(house: House) -> list[Path | None]:
    """As the service lane does."""
    found = []
    for archive_id in house.stores.redis.hkeys(house.stores.keys.archives):
        archive = house.stores.sessions.archive(str(archive_id))
        assert archive is not None
        assert retire(house.loaded, archive) == retire(house.loaded, archive), "doing it twice changes nothing"
        found.append(retire(house.loaded, archive))
        house.stores.sessions.archived(str(archive_id))
    return found


@pytest.mark.parametrize(
    ("more", "workspace"),
    [({}, "workspace"), ({"workspaceDir": "part"}, "workspace/part"), ({"agentId": "b"}, "workspace-b")],
)
def test_a_child_that_is_cleaned_up_leaves_no_files(
    make_house: MakeHouse, more: dict[str, Any], workspace: str
) -> None:
    agents = [{"id": "main", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]
    house = make_house({"agents": {"list": agents}})
    ask(house, attachments=FILES, cleanup="delete", **more)
    folder = house.loaded.state_dir / workspace / files_dir(child(house).session_key)
    settle(house)
    assert (folder / "1-notes.txt").exists()
    other = folder.parent / "another"
    other.mkdir()

    house.sweeper.sweep()
    (path,) = retire_all(house)

    assert not folder.exists()
    assert other.exists()
    assert path is not None
    assert "child's word" in path.read_text()


def test_a_child_that_is_spoken_to_just_before_it_goes_is_kept_until_it_has_answered(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(house, cleanup="delete")
    session = child(house).session_key
    settle(house)
    look = Tree.batches

    def spoken_to_meanwhile(tree: Tree, key: SessionKey) -> Any:
        monkeypatch.setattr(Tree, "batches", look)
        house.say(as_text(program(say("one more word"))), session)
        return look(tree, key)

    monkeypatch.setattr(Tree, "batches", spoken_to_meanwhile)
    house.sweeper.sweep()
    assert house.stores.reader.session(session) is not None
    house.work()

    runs = [run for run in house.stores.reader.runs() if run.session_key == session]
    assert [run.state for run in runs] == [RunState.OK, RunState.OK]
    assert runs[0].text == "one more word"


def test_a_child_that_begins_anew_keeps_its_files_until_it_is_deleted(house: House) -> None:
    ask(house, attachments=FILES)
    session = child(house).session_key
    folder = house.loaded.state_dir / "workspace" / files_dir(session)
    settle(house)

    house.control.reset(session)
    retire_all(house)
    assert folder.exists()

    house.control.delete(session)
    assert retire_all(house) == [None], "it has said nothing since"
    assert not folder.exists()


def test_nothing_is_removed_by_a_link_that_leads_elsewhere(house: House, tmp_path: Path) -> None:
    ask(house, attachments=FILES)
    session = child(house).session_key
    settle(house)
    folder = house.loaded.state_dir / "workspace" / files_dir(session)
    outside = tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)

    house.control.delete(session)
    retire_all(house)

    assert (outside / "1-notes.txt").exists()


def test_a_child_without_files_is_only_written_out(house: House) -> None:
    ask(house, task=program(say("word")), cleanup="delete")
    settle(house)
    house.sweeper.sweep()

    (path,) = retire_all(house)

    assert path is not None
    assert path.exists()


def test_what_an_agent_said_that_is_not_configured_any_more_is_written_out(make_house: MakeHouse) -> None:
    agents = {"agents": {"list": [{"id": "main"}, {"id": "gone"}]}}
    before, session = make_house(agents), SessionKey("agent:gone:main")
    before.say(as_text(program(say("last words"))), session)
    before.work()
    before.control.delete(session)

    (path,) = retire_all(make_house())

    assert path is not None
    assert "last words" in path.read_text()
