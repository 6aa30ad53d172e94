"""What is left on disk of a session that is over: its transcript, and of a deleted child no files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey, WorkerId
from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.archives.transcript_files import sessions_dir
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.intake_graph import archives_of, control_of
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.archives import PART, Archives
from openclaw_workers.store.tree import Tree
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.tree_builder import ask, child, settle
from tests.support.programs import as_text, program, say

FILES = [{"name": "notes.txt", "content": "aGk="}]


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

    assert not folder.exists()
    assert other.exists()
    (path,) = engine.loaded.state_dir.glob("agents/*/sessions/*.jsonl")
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


def test_a_child_that_is_reset_keeps_its_files_until_it_is_deleted(engine: EngineHarness) -> None:
    ask(engine, attachments=FILES)
    session = child(engine).session_key
    folder = engine.loaded.state_dir / "workspace" / files_dir(session)
    settle(engine)

    engine.control.reset(session)
    engine.archive_all()
    assert folder.exists()

    engine.control.delete(session)
    engine.archive_all()
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
    engine.archive_all()

    assert (outside / "1-notes.txt").exists()


def test_a_child_without_files_is_only_written_out(engine: EngineHarness) -> None:
    ask(engine, task=program(say("word")), cleanup="delete")
    settle(engine)
    engine.sweeper.sweep()

    assert len([*engine.loaded.state_dir.glob("agents/*/sessions/*.jsonl")]) == 1


def test_what_an_agent_said_that_is_no_longer_configured_is_written_out(make_engine: MakeEngine) -> None:
    agents = {"agents": {"list": [{"id": "main"}, {"id": "gone"}]}}
    before, session = make_engine(agents), SessionKey("agent:gone:main")
    before.say(as_text(program(say("last words"))), session)
    before.work()
    before.control.delete(session)

    (path,) = make_engine().archive_all()

    assert path is not None
    assert "last words" in path.read_text()


# --- one writer, one place


def start_over(engine: EngineHarness, *said: str) -> str:
    """A session with something to archive; returns the session id that is over."""
    for each in said:
        engine.say(as_text(program(say(each))))
        engine.work()
    session_id = engine.stores.reader.row(SESSION)["sessionId"]
    engine.control.reset(SESSION)
    return session_id


def come_late(engine: EngineHarness, session_id: str, text: str) -> None:
    """A result for a session id that is over, as `announce` leaves it."""
    redis, keys = engine.stores.redis, engine.stores.keys
    about = {"session_id": session_id, "agent_id": "main", "session_key": SESSION}
    redis.rpush(keys.archive(session_id), json.dumps({"role": "user", "late": text}))
    redis.hsetnx(keys.archives, session_id, json.dumps(about))
    redis.zadd(keys.due, {f"archive|{session_id}": 1})


def written(engine: EngineHarness, session_id: str) -> str:
    return (sessions_dir(engine.loaded.state_dir, "main") / f"{session_id}.jsonl").read_text()


def elsewhere(engine: EngineHarness, tmp_path: Path) -> ArchiveWriter:
    """The writer of another host on the same Redis."""
    return ArchiveWriter(engine.stores.archives, engine.loaded.settings, tmp_path / "other-state")


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_writer_that_dies_around_the_removal_loses_and_doubles_nothing(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    session_id = start_over(engine, "one", "two")
    trim = Archives.trim

    def die(self: Archives, *args: Any, **more: Any) -> int | None:
        if point == "after":
            trim(self, *args, **more)
        raise StoreUnavailable("killed here")

    monkeypatch.setattr(Archives, "trim", die)
    with pytest.raises(StoreUnavailable):
        engine.archives.write(session_id)
    monkeypatch.setattr(Archives, "trim", trim)
    come_late(engine, session_id, "late")
    engine.stores.redis.hdel(engine.stores.keys.archiving(session_id), "until")  # its lease has run out

    engine.archives.write(session_id)

    text = written(engine, session_id)
    assert [text.count(each) for each in ('"text":"one"}', '"text":"two"}', '"late":')] == [1, 1, 1], text
    assert text.count('"type": "session"') == 1


def test_a_long_transcript_is_written_in_parts_and_in_order(engine: EngineHarness) -> None:
    session_id = start_over(engine, "one")
    redis, key = engine.stores.redis, engine.stores.keys.archive(session_id)
    redis.delete(key)
    redis.rpush(key, *(f'{{"n":{n}}}' for n in range(2 * PART + 1)))

    engine.archives.write(session_id)

    assert [json.loads(line)["n"] for line in written(engine, session_id).splitlines()[1:]] == list(range(2 * PART + 1))
    assert redis.exists(key, engine.stores.keys.archives) == 0


def test_only_one_writer_at_a_time(engine: EngineHarness, tmp_path: Path) -> None:
    session_id = start_over(engine, "one")
    claimed = engine.stores.archives.claim(session_id, engine.archives.place)
    assert claimed is not None

    assert engine.archives.write(session_id) is None
    assert elsewhere(engine, tmp_path).write(session_id) is None

    engine.stores.redis.hset(engine.stores.keys.archiving(session_id), "until", "1")
    assert engine.archives.write(session_id) is not None
    # And the one that only slept removes nothing of what came since.
    come_late(engine, session_id, "late")
    assert engine.stores.archives.trim(claimed, 2, size=1, place=engine.archives.place) is None
    assert engine.stores.redis.llen(engine.stores.keys.archive(session_id)) == 1


def test_late_results_wait_for_the_place_that_wrote_first_and_are_shown(engine: EngineHarness, tmp_path: Path) -> None:
    session_id, other = start_over(engine, "one"), elsewhere(engine, tmp_path)
    other.write(session_id)
    come_late(engine, session_id, "late")

    for _ in range(2):
        engine.sweeper.sweep()

    assert dict(engine.stores.archives.waiting()) == {other.place.shown: 1}
    assert not (sessions_dir(engine.loaded.state_dir, "main") / f"{session_id}.jsonl").exists()
    # It is looked at again when that place is forgotten, and by no sweep here before.
    redis, keys = engine.stores.redis, engine.stores.keys
    later_ms = float(redis.zscore(keys.due, f"archive|{session_id}") or 0) - engine.stores.due.now_ms()
    assert 0 < later_ms - redis.pttl(keys.archiving(session_id)) < 5_000
    # Then a sweep over there finds it, however many sweep here.
    items = engine.stores.due.claim(other.place.id).items
    assert items == [f"archive|{session_id}"]
    path = other.write(session_id)
    assert path is not None
    assert '"late"' in path.read_text()
    assert not engine.stores.archives.waiting()


def test_what_waits_for_a_place_that_nobody_knows_is_written_here(engine: EngineHarness, tmp_path: Path) -> None:
    session_id = start_over(engine, "one")
    elsewhere(engine, tmp_path).write(session_id)
    come_late(engine, session_id, "late")
    engine.sweeper.sweep()

    engine.stores.redis.delete(engine.stores.keys.archiving(session_id))  # it has expired
    engine.stores.redis.zadd(engine.stores.keys.due, {f"archive|{session_id}": 1})
    engine.sweeper.sweep()

    assert '"late"' in written(engine, session_id)


def test_a_state_directory_that_cannot_be_written_stops_no_sweep(engine: EngineHarness) -> None:
    session_id = start_over(engine, "one")
    loaded = replace(engine.loaded, state_dir=Path("/dev/null/state"))
    there = WorkerEngine(loaded, engine.stores, engine.waker, engine.process, WorkerId("w"), default_model="")

    there.sweeper.sweep()

    assert engine.stores.redis.llen(engine.stores.keys.archive(session_id)) == 2


def test_processes_that_share_a_directory_share_its_name(engine: EngineHarness) -> None:
    again = ArchiveWriter(engine.stores.archives, engine.loaded.settings, engine.loaded.state_dir)
    assert again.place == engine.archives.place
    assert len(again.place.id) == 32


def test_deleting_writes_the_archive_and_frees_it_without_a_sweep(engine: EngineHarness) -> None:
    engine.say(as_text(program(say("last words"))))
    engine.work()
    session_id = engine.stores.reader.row(SESSION)["sessionId"]

    control_of(engine.stores, engine.waker, engine.archives).delete(SESSION)

    assert "last words" in written(engine, session_id)
    assert engine.stores.redis.keys(engine.stores.keys.archive("*")) == []
    assert engine.stores.redis.exists(engine.stores.keys.archives, engine.stores.keys.due) == 0


def test_an_archive_is_written_where_the_files_of_its_agent_are(engine: EngineHarness) -> None:
    """Until a worker there writes it, it stays in Redis."""
    engine.say("hello")
    engine.work()
    keys, places = engine.stores.keys, engine.built.places
    session_id = engine.stores.reader.row(SESSION)["sessionId"]
    engine.control.reset(SESSION)

    places.noticed({"main": "0" * 32})
    engine.sweeper.sweep()
    assert engine.archive_all() == [None]
    assert not list(engine.loaded.state_dir.glob("agents/*/sessions/*.jsonl"))
    assert engine.stores.redis.zscore(keys.due, f"archive|{session_id}")

    places.noticed({"main": places.seen("main") or ""})
    assert [path and path.name for path in engine.archive_all()] == [f"{session_id}.jsonl"]


def test_a_client_writes_no_archive_of_files_that_are_elsewhere(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    redis, keys = engine.stores.redis, engine.stores.keys
    session_id = engine.stores.reader.row(SESSION)["sessionId"]
    engine.control.reset(SESSION)
    here = str(redis.hget(keys.places, "main"))
    client = archives_of(engine.stores, engine.loaded)
    redis.zadd(keys.places_apart, {"main": 2**52})

    redis.hset(keys.places, "main", "0" * 32)
    assert client.write(session_id) is None

    redis.hset(keys.places, "main", here)
    assert client.write(session_id) is not None
