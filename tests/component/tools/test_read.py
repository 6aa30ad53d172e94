"""What `read` returns for a file, and how it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, ToolInputInvalid, ToolTimedOut, TurnAborted
from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.files import lines
from openclaw_workers.tools.files import read as read_module
from openclaw_workers.tools.files.read import Read
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES
from tests.component.tools.conftest import Call

CATASTROPHE = {"path": "evil.txt", "pattern": "(a+)+$"}


@pytest.fixture
def evil(workspace: Path) -> None:
    (workspace / "evil.txt").write_text("a" * 60 + "b\n")


def test_reading_may_be_repeated_after_a_crash() -> None:
    assert Read.effect is Effect.NONE


def test_a_small_file_is_returned_as_it_is(workspace: Path, call: Call) -> None:
    (workspace / "notes.txt").write_text("one\n  two\nthree – 三")
    assert call("read", path="notes.txt") == "one\n  two\nthree – 三"


def test_a_long_file_is_read_to_its_end_by_following_the_offsets(workspace: Path, call: Call) -> None:
    wanted = [f"line {number} " + "x" * (number % 90) for number in range(1, 5001)]
    (workspace / "long.txt").write_text("\n".join(wanted) + "\n")
    seen: list[str] = []
    offset = 1
    while True:
        text = call("read", path="long.txt", offset=offset)
        assert len(text.encode()) <= MAX_OUTPUT_BYTES + 200
        *lines, note = text.split("\n")
        if not note.startswith("[stopped after"):
            seen += [*lines, note]
            break
        seen += lines
        offset = int(note.rpartition("offset=")[2].rstrip("]"))
    assert seen == wanted


def test_a_limited_read_ends_with_the_next_offset(workspace: Path, call: Call) -> None:
    (workspace / "n.txt").write_text("1\n2\n3\n")
    assert call("read", path="n.txt", limit=2) == "1\n2\n[stopped after 2 lines; more follows: continue with offset=3]"
    assert call("read", path="n.txt", limit=3) == "1\n2\n3"
    assert call("read", path="n.txt", offset=3) == "3"


def test_a_huge_line_is_truncated_visibly_and_the_next_line_is_readable(workspace: Path, call: Call) -> None:
    (workspace / "wide.txt").write_bytes(b"y" * 1_000_000 + b"\nafter\n")
    text = call("read", path="wide.txt")
    assert len(text.encode()) <= MAX_OUTPUT_BYTES + 200
    assert "line 1 is cut here: 948,800 more bytes" in text
    assert text.endswith("continue with offset=2]")
    assert call("read", path="wide.txt", offset=2) == "after"


def test_a_pattern_chooses_lines_and_numbers_them(workspace: Path, call: Call) -> None:
    (workspace / "log.txt").write_text("".join(f"{n} {'bad' if n % 3 == 0 else 'good'}\n" for n in range(1, 10_001)))
    assert call("read", path="log.txt", pattern="bad$", limit=2).startswith("3: 3 bad\n6: 6 bad\n[stopped after 2")
    assert call("read", path="log.txt", pattern="^9999 ", offset=9_000) == "9999: 9999 bad"
    assert call("read", path="log.txt", pattern="nowhere") == "(no line of log.txt matches)"
    assert len(call("read", path="log.txt", pattern=".").encode()) <= MAX_OUTPUT_BYTES + 200


def test_a_wrong_pattern_is_explained(workspace: Path, call: Call) -> None:
    (workspace / "x").write_text("x")
    with pytest.raises(ToolError, match="not a regular expression Python accepts: missing"):
        call("read", path="x", pattern="(")


@pytest.mark.usefixtures("evil")
def test_a_catastrophic_pattern_is_killed_without_blocking_other_threads(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_module, "_PATTERN_SECONDS", 0.7)
    longest_pause_seconds = 0.0
    done = threading.Event()

    def heartbeat() -> None:
        nonlocal longest_pause_seconds
        before = time.monotonic()
        while not done.wait(0.01):
            now = time.monotonic()
            longest_pause_seconds = max(longest_pause_seconds, now - before)
            before = now

    other = threading.Thread(target=heartbeat)
    other.start()
    try:
        with pytest.raises(ToolTimedOut, match="use a simpler one"):
            call("read", **CATASTROPHE)
    finally:
        done.set()
        other.join()
    assert longest_pause_seconds < 0.5


@pytest.mark.usefixtures("evil")
def test_a_stopped_turn_ends_a_search_at_once(call: Call, cancel: Cancel) -> None:
    stop = threading.Timer(0.2, cancel.set, [TurnAborted("stopped")])
    stop.start()
    began = time.monotonic()
    with pytest.raises(TurnAborted):
        call("read", **CATASTROPHE)
    assert time.monotonic() - began < 1.2


def test_a_binary_file_is_described_and_not_dumped(workspace: Path, call: Call) -> None:
    (workspace / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)
    assert call("read", path="logo.png").startswith("logo.png is a binary file of 2,568 bytes")


def test_text_in_another_encoding_is_still_text(workspace: Path, call: Call) -> None:
    (workspace / "old.txt").write_bytes("Ein schöner Tag für alle, die Latein-1 schreiben".encode("latin-1"))
    assert "r Tag f" in call("read", path="old.txt")


def test_a_character_cut_by_the_end_of_the_sample_does_not_make_a_file_binary(workspace: Path, call: Call) -> None:
    (workspace / "cn.txt").write_text("a" + "汉" * 4000)
    assert call("read", path="cn.txt") == "a" + "汉" * 4000


def test_unreadable_paths_are_reported(workspace: Path, call: Call) -> None:
    (workspace / "notes.txt").write_text("x\ny\n")
    (workspace / "empty.txt").touch()
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    assert call("read", path="empty.txt") == "(empty.txt is empty)"
    for path, message in {
        "note.txt": "no such file: note.txt; did you mean 'notes.txt'?",
        "nowhere/x": "cannot read nowhere/x: No such file or directory",
        "folder": "folder is a directory, not a file; it holds nothing",
        ".": "it holds:\nempty.txt, folder, notes.txt, pipe",
        "pipe": "not a regular file",
    }.items():
        with pytest.raises(ToolError) as refused:
            call("read", path=path)
        assert message in f"{refused.value}\n{refused.value.output}"
    with pytest.raises(ToolError, match="has 2 lines; offset 3 is past its end"):
        call("read", path="notes.txt", offset=3)


def test_wrong_arguments_are_named(call: Call) -> None:
    with pytest.raises(ToolInputInvalid, match="offset: Input should be greater than or equal to 1"):
        call("read", path="x", offset=0)
    with pytest.raises(ToolInputInvalid, match="lines: Extra inputs are not permitted"):
        call("read", path="x", lines=3)


@pytest.mark.usefixtures("evil")
def test_a_search_ends_after_its_worker_has_died(workspace: Path) -> None:
    with open(workspace / "evil.txt", "rb") as file:
        request = {"fd": file.fileno(), "pattern": "(a+)+$", "offset": 1, "limit": 1, "max_bytes": 100}
        child = subprocess.run(
            [sys.executable, "-I", "-S", lines.__file__],
            input=json.dumps({**request, "timeout_seconds": -1}).encode(),  # minus one: a second sooner
            pass_fds=(file.fileno(),),
            timeout=10,
            check=False,
        )
    assert child.returncode == -signal.SIGALRM
