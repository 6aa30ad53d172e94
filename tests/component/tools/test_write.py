"""`write` replaces a file completely or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.files.write import Write
from tests.component.tools.conftest import Call


def test_writing_may_be_repeated_with_the_same_outcome(workspace: Path, call: Call) -> None:
    assert Write.effect is Effect.IDEMPOTENT
    assert call("write", path="a/b/notes.txt", content="héllo") == "Wrote 6 bytes to a/b/notes.txt (created)."
    assert call("write", path="a/b/notes.txt", content="héllo") == "Wrote 6 bytes to a/b/notes.txt (replaced)."
    assert (workspace / "a/b/notes.txt").read_text() == "héllo"
    assert os.listdir(workspace / "a/b") == ["notes.txt"]


def test_a_missing_workspace_is_created(workspace: Path, call: Call) -> None:
    workspace.rmdir()
    call("write", path="x", content="y")
    assert (workspace / "x").read_text() == "y"


def test_the_mode_of_a_replaced_file_is_kept(workspace: Path, call: Call) -> None:
    (workspace / "run.sh").write_text("old")
    (workspace / "run.sh").chmod(0o750)
    call("write", path="run.sh", content="new")
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o750


def test_a_link_inside_is_kept_and_its_target_written(workspace: Path, call: Call) -> None:
    (workspace / "real.txt").write_text("old")
    (workspace / "link.txt").symlink_to("real.txt")
    call("write", path="link.txt", content="new")
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "real.txt").read_text() == "new"


def test_a_reader_never_sees_half_a_file(workspace: Path, call: Call) -> None:
    versions = {letter * 200_000 for letter in "ab"}
    call("write", path="big.txt", content="a" * 200_000)
    done = threading.Event()

    def writer() -> None:
        for _ in range(20):
            for content in sorted(versions):
                call("write", path="big.txt", content=content)
        done.set()

    thread = threading.Thread(target=writer)
    thread.start()
    while not done.is_set():
        assert (workspace / "big.txt").read_text() in versions
    thread.join()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder", "folder is a directory"),
        ("folder/", "is a directory"),
        (".", "is a directory"),
        ("file/below", "a part of that path is a file"),
        ("pipe", "not a regular file"),
        ("x" * 300, "File name too long"),
    ],
)
def test_an_unwritable_path_is_reported_and_leaves_no_files(
    workspace: Path, call: Call, path: str, message: str
) -> None:
    (workspace / "folder").mkdir()
    (workspace / "file").write_text("kept")
    os.mkfifo(workspace / "pipe")
    with pytest.raises(ToolError, match=message):
        call("write", path=path, content="x")
    assert sorted(os.listdir(workspace)) == ["file", "folder", "pipe"]
    assert (workspace / "file").read_text() == "kept"
