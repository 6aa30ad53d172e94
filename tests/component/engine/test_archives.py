"""Transcripts on disk, in OpenClaw's layout."""

from __future__ import annotations

import json
from pathlib import Path

from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.archive import sessions_dir, transcript_name, write_archive, write_index, write_transcript
from openclaw_workers.store.sessions import Archive
from tests.component.engine.conftest import SESSION, EngineHarness

TOPIC = "agent:main:telegram:group:-100:topic:7"


def archive(**changed: object) -> Archive:
    facts = {
        "id": "a1",
        "session_id": "sid-1",
        "agent_id": "main",
        "session_key": "agent:main:main",
        "thread_id": "",
        "started_at": 1_700_000_000_123,
        "entries": ['{"role":"user"}', '{"role":"assistant"}'],
        **changed,
    }
    return Archive(**facts)  # type: ignore[arg-type]


def test_the_header_comes_first_and_then_the_entries_as_they_are(tmp_path: Path) -> None:
    path = write_archive(tmp_path, archive(), cwd="/work/space")

    assert path == tmp_path / "agents" / "main" / "sessions" / "sid-1.jsonl"
    header, *entries = path.read_text().splitlines()
    assert json.loads(header) == {
        "type": "session",
        "version": 2,
        "id": "sid-1",
        "timestamp": "2023-11-14T22:13:20.123Z",
        "cwd": "/work/space",
    }
    assert entries == ['{"role":"user"}', '{"role":"assistant"}']


def test_a_topic_is_in_the_name_of_its_file() -> None:
    assert transcript_name("sid-1", TOPIC) == "sid-1-topic-7.jsonl"
    assert transcript_name("sid-1", "agent:main:telegram:group:-100") == "sid-1.jsonl"


def test_a_hostile_topic_cannot_leave_the_directory(tmp_path: Path) -> None:
    path = write_archive(tmp_path, archive(session_key="agent:main:telegram:group:1:topic:../../x"), cwd="/")
    assert path.parent == sessions_dir(tmp_path, "main")


def test_writing_twice_gives_the_same_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    said = archive(entries=['{"text":"two\u2028lines\x85"}', '{"role":"assistant"}'])
    late = archive(id="batch-1", entries=['{"late":"one\u2029more"}'], late=True)
    for each in (said, late):
        write_archive(tmp_path, each, cwd="/")
    first = write_archive(tmp_path, said, cwd="/").read_bytes()
    path = write_archive(tmp_path, late, cwd="/")
    assert path.read_bytes() == first
    assert path.read_text(encoding="utf-8").split("\n")[1:] == [*said.entries, *late.entries, ""]
    assert list(path.parent.iterdir()) == [path]


def test_any_unicode_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_transcript(path, session_id="s", started_at=0, cwd="/", entries=['{"text":"雪\u2028"}'])
    assert path.read_text(encoding="utf-8").split("\n")[1] == '{"text":"雪\u2028"}'


def test_the_index_names_each_sessions_file(tmp_path: Path) -> None:
    row = SessionEntry.model_validate(
        {
            "sessionId": "sid-1",
            "sessionKey": TOPIC,
            "agentId": "main",
            "createdAt": 1,
            "updatedAt": 2,
            "sessionStartedAt": 1,
            "label": "Ümlaut",
        }
    )

    path = write_index(tmp_path, "main", {TOPIC: row})

    assert path.name == "sessions.json"
    index = json.loads(path.read_text())
    assert index[TOPIC]["sessionFile"] == "sid-1-topic-7.jsonl"
    assert (index[TOPIC]["sessionId"], index[TOPIC]["label"]) == ("sid-1", "Ümlaut")
    assert "parentSessionId" not in index[TOPIC]


def test_a_reset_session_can_be_written_out_from_what_redis_kept(engine: EngineHarness, tmp_path: Path) -> None:
    engine.say('{"steps": [{"text": "remember me"}]}')
    engine.work()
    engine.control.reset(SESSION)
    (archive_id,) = map(str, engine.stores.redis.hkeys(engine.stores.keys.archives))
    found = engine.stores.sessions.archive(archive_id)
    assert found is not None

    path = write_archive(tmp_path, found, cwd="/")

    header, *entries = map(json.loads, path.read_text().splitlines())
    assert header["id"] == found.session_id
    assert [entry["role"] for entry in entries] == ["user", "assistant"]
    assert entries[1]["content"][0]["text"] == "remember me"


def test_late_results_stay_behind_the_transcript_whichever_is_written_first(tmp_path: Path) -> None:
    late = archive(id="batch-1", entries=['{"role":"user","late":1}'], late=True)
    lines = ['{"role":"user"}', '{"role":"assistant"}', '{"role":"user","late":1}']

    write_archive(tmp_path, late, cwd="/")
    path = write_archive(tmp_path, archive(), cwd="/")
    assert path.read_text().splitlines()[1:] == lines

    write_archive(tmp_path, late, cwd="/")
    assert path.read_text().splitlines()[1:] == lines
