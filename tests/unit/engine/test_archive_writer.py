"""What is left on disk of a session that is over: its transcript, and of a deleted child no files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.engine.archive import sessions_dir
from openclaw_workers.engine.archive_writer import ArchiveWriter
from openclaw_workers.engine.child_files import files_dir
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.sweep import Sweeper
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.models.ids import SessionKey, WorkerId
from openclaw_workers.models.runs import RunState
from openclaw_workers.store.archives import PART, Archives
from openclaw_workers.store.tree import Tree
from tests.support.programs import as_text, program, say
from tests.unit.engine.conftest import SESSION, House, MakeHouse
from tests.unit.engine.tree_talk import ask, child, settle

FILES = [{"name": "notes.txt", "content": "aGk="}]


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

    assert not folder.exists()
    assert other.exists()
    (path,) = house.loaded.state_dir.glob("agents/*/sessions/*.jsonl")
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
    house.archive_all()
    assert folder.exists()

    house.control.delete(session)
    house.archive_all()
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
    house.archive_all()

    assert (outside / "1-notes.txt").exists()


def test_a_child_without_files_is_only_written_out(house: House) -> None:
    ask(house, task=program(say("word")), cleanup="delete")
    settle(house)
    house.sweeper.sweep()

    assert len([*house.loaded.state_dir.glob("agents/*/sessions/*.jsonl")]) == 1


def test_what_an_agent_said_that_is_not_configured_any_more_is_written_out(make_house: MakeHouse) -> None:
    agents = {"agents": {"list": [{"id": "main"}, {"id": "gone"}]}}
    before, session = make_house(agents), SessionKey("agent:gone:main")
    before.say(as_text(program(say("last words"))), session)
    before.work()
    before.control.delete(session)

    (path,) = make_house().archive_all()

    assert path is not None
    assert "last words" in path.read_text()


# --- one writer, one place


def begin_anew(house: House, *said: str) -> str:
    """A session with something to archive; returns the session id that is over."""
    for each in said:
        house.say(as_text(program(say(each))))
        house.work()
    session_id = house.stores.reader.row(SESSION)["sessionId"]
    house.control.reset(SESSION)
    return session_id


def come_late(house: House, session_id: str, text: str) -> None:
    """A result for a session id that is over, as `announce` leaves it."""
    redis, keys = house.stores.redis, house.stores.keys
    about = {"session_id": session_id, "agent_id": "main", "session_key": SESSION}
    redis.rpush(keys.archive(session_id), json.dumps({"role": "user", "late": text}))
    redis.hsetnx(keys.archives, session_id, json.dumps(about))
    redis.zadd(keys.due, {f"archive|{session_id}": 1})


def written(house: House, session_id: str) -> str:
    return (sessions_dir(house.loaded.state_dir, "main") / f"{session_id}.jsonl").read_text()


def elsewhere(house: House, tmp_path: Path) -> ArchiveWriter:
    """The writer of another host on the same Redis."""
    return ArchiveWriter(house.stores.archives, replace(house.loaded, state_dir=tmp_path / "other-state"))


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_writer_that_dies_around_the_removal_loses_and_doubles_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    session_id = begin_anew(house, "one", "two")
    trim = Archives.trim

    def die(self: Archives, *args: Any, **more: Any) -> int | None:
        if point == "after":
            trim(self, *args, **more)
        raise StoreUnavailable("killed here")

    monkeypatch.setattr(Archives, "trim", die)
    with pytest.raises(StoreUnavailable):
        house.archives.write(session_id)
    monkeypatch.setattr(Archives, "trim", trim)
    come_late(house, session_id, "late")
    house.stores.redis.hdel(house.stores.keys.archiving(session_id), "until")  # its lease has run out

    house.archives.write(session_id)

    text = written(house, session_id)
    assert [text.count(each) for each in ('"text":"one"}', '"text":"two"}', '"late":')] == [1, 1, 1], text
    assert text.count('"type": "session"') == 1


def test_a_long_transcript_is_written_in_parts_and_in_order(house: House) -> None:
    session_id = begin_anew(house, "one")
    redis, key = house.stores.redis, house.stores.keys.archive(session_id)
    redis.delete(key)
    redis.rpush(key, *(f'{{"n":{n}}}' for n in range(2 * PART + 1)))

    house.archives.write(session_id)

    assert [json.loads(line)["n"] for line in written(house, session_id).splitlines()[1:]] == list(range(2 * PART + 1))
    assert redis.exists(key, house.stores.keys.archives) == 0


def test_only_one_writer_at_a_time(house: House, tmp_path: Path) -> None:
    session_id = begin_anew(house, "one")
    claimed = house.stores.archives.claim(session_id, house.archives.place)
    assert claimed is not None

    assert house.archives.write(session_id) is None
    assert elsewhere(house, tmp_path).write(session_id) is None

    house.stores.redis.hset(house.stores.keys.archiving(session_id), "until", "1")
    assert house.archives.write(session_id) is not None
    # And the one that only slept removes nothing of what came since.
    come_late(house, session_id, "late")
    assert house.stores.archives.trim(claimed, 2, size=1, place=house.archives.place) is None
    assert house.stores.redis.llen(house.stores.keys.archive(session_id)) == 1


def test_late_results_wait_for_the_place_that_wrote_first_and_are_shown(house: House, tmp_path: Path) -> None:
    session_id, other = begin_anew(house, "one"), elsewhere(house, tmp_path)
    other.write(session_id)
    come_late(house, session_id, "late")

    for _ in range(2):
        house.sweeper.sweep()

    assert dict(house.stores.archives.waiting()) == {other.place.shown: 1}
    assert not (sessions_dir(house.loaded.state_dir, "main") / f"{session_id}.jsonl").exists()
    # It is looked at again when that place is forgotten, and by no sweep here before.
    redis, keys = house.stores.redis, house.stores.keys
    later_ms = float(redis.zscore(keys.due, f"archive|{session_id}") or 0) - house.stores.fleet.now_ms()
    assert 0 < later_ms - redis.pttl(keys.archiving(session_id)) < 5_000
    # Then a sweep over there finds it, however many sweep here.
    _, items = house.stores.fleet.due(other.place.id)
    assert items == [f"archive|{session_id}"]
    path = other.write(session_id)
    assert path is not None
    assert '"late"' in path.read_text()
    assert not house.stores.archives.waiting()


def test_what_waits_for_a_place_that_nobody_knows_any_more_is_written_here(house: House, tmp_path: Path) -> None:
    session_id = begin_anew(house, "one")
    elsewhere(house, tmp_path).write(session_id)
    come_late(house, session_id, "late")
    house.sweeper.sweep()

    house.stores.redis.delete(house.stores.keys.archiving(session_id))  # it has expired
    house.stores.redis.zadd(house.stores.keys.due, {f"archive|{session_id}": 1})
    house.sweeper.sweep()

    assert '"late"' in written(house, session_id)


def test_a_state_directory_that_cannot_be_written_stops_no_sweep(house: House) -> None:
    session_id = begin_anew(house, "one")
    loaded = replace(house.loaded, state_dir=Path("/dev/null/state"))
    there = ArchiveWriter(house.stores.archives, loaded)
    sweeper = Sweeper(
        house.stores, house.waker, house.runner, house.announcer, WorkerId("w"), archives=there, period_seconds=1
    )

    sweeper.sweep()

    assert house.stores.redis.llen(house.stores.keys.archive(session_id)) == 2


def test_processes_that_share_a_directory_share_its_name(house: House) -> None:
    again = ArchiveWriter(house.stores.archives, house.loaded)
    assert again.place == house.archives.place
    assert len(again.place.id) == 32


def test_deleting_writes_the_archive_and_frees_it_without_a_sweep(house: House) -> None:
    house.say(as_text(program(say("last words"))))
    house.work()
    session_id = house.stores.reader.row(SESSION)["sessionId"]

    Control(house.stores, house.waker, house.archives).delete(SESSION)

    assert "last words" in written(house, session_id)
    assert house.stores.redis.keys(house.stores.keys.archive("*")) == []
    assert house.stores.redis.exists(house.stores.keys.archives, house.stores.keys.due) == 0
