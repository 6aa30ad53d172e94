"""Transcripts on disk, in OpenClaw's layout."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.archives.transcript_files import (
    append_entries,
    header_line,
    sessions_dir,
    transcript_name,
    write_index,
    write_transcript,
)

TOPIC = "agent:main:telegram:group:-100:topic:7"


HEADER = header_line("sid-1", 1_700_000_000_123, "/work/space")
SAID = ['{"role":"user","text":"two\u2028lines\x85"}', '{"role":"assistant"}']
LATE = ['{"late":"one\u2029more"}']


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def append(path: Path, entries: Sequence[str], confirmed: int | None = None) -> int:
    size = append_entries(path, HEADER, entries, confirmed=confirmed)
    assert size == path.stat().st_size
    return size


def test_the_header_comes_first_and_then_the_entries_as_they_are(tmp_path: Path) -> None:
    path = sessions_dir(tmp_path, "main") / "sid-1.jsonl"
    size = append(path, SAID)
    append(path, LATE, size)

    header, *entries = lines(path)
    assert json.loads(header) == {
        "type": "session",
        "version": 2,
        "id": "sid-1",
        "timestamp": "2023-11-14T22:13:20.123Z",
        "cwd": "/work/space",
    }
    assert entries == SAID + LATE
    assert list(path.parent.iterdir()) == [path]


def test_a_topic_is_in_the_name_of_its_file() -> None:
    assert transcript_name("sid-1", TOPIC) == "sid-1-topic-7.jsonl"
    assert transcript_name("sid-1", "agent:main:telegram:group:-100") == "sid-1.jsonl"


def test_a_hostile_topic_cannot_leave_the_directory() -> None:
    assert "/" not in transcript_name("sid-1", "agent:main:telegram:group:1:topic:../../x")


@pytest.mark.parametrize("knows", [True, False])
def test_what_was_written_and_not_confirmed_is_not_written_again(tmp_path: Path, knows: bool) -> None:
    path = tmp_path / "sid-1.jsonl"
    confirmed = append(path, SAID)
    append(path, LATE, confirmed)  # and then it died

    append(path, [*LATE, '{"more":1}'], confirmed if knows else None)

    assert lines(path) == [HEADER, *SAID, *LATE, '{"more":1}']


def test_the_same_said_again_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "sid-1.jsonl"
    size = append(path, ["{}", "{}"])
    size = append(path, ["{}"], size)
    assert lines(path) == [HEADER, "{}", "{}", "{}"]


@pytest.mark.parametrize("cut", [1, 5, 200])
def test_a_line_that_was_half_written_is_written_whole(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "sid-1.jsonl"
    append(path, SAID)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(1, len(whole) - cut)])

    append(path, SAID)

    assert path.read_bytes() == whole


def test_a_file_that_was_taken_away_is_reset(tmp_path: Path) -> None:
    path = tmp_path / "sid-1.jsonl"
    size = append(path, SAID)
    path.unlink()
    append(path, LATE, size)
    assert lines(path) == [HEADER, *LATE]


def test_a_file_that_another_process_writes_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "sid-1.jsonl"
    append(path, SAID)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert append_entries(path, HEADER, LATE, confirmed=None) is None
    assert lines(path) == [HEADER, *SAID]


def test_looking_for_repeats_takes_time_in_proportion(tmp_path: Path) -> None:
    """Each of 40,000 entries compared with each would take minutes."""
    path, entries = tmp_path / "sid-1.jsonl", [f'{{"n":{n}}}' for n in range(40_000)]
    begun = time.process_time()
    for _ in range(2):
        append(path, entries)
    assert time.process_time() - begun < 5
    assert len(lines(path)) == 40_001


def test_any_unicode_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_transcript(path, HEADER, ['{"text":"雪\u2028"}'])
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
