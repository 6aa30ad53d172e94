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
from openclaw_workers.domain.transcript import FileBlock, ImageBlock
from openclaw_workers.errors import ToolError, ToolInputInvalid, ToolTimedOut, TurnAborted
from openclaw_workers.tools.base import Effect
from openclaw_workers.tools.files import isolated_main, lines
from openclaw_workers.tools.files import read as read_module
from openclaw_workers.tools.files.read import Read
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES
from tests.component.tools.conftest import Call, CallForBlocks
from tests.support.pdfs import pdf

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
    (workspace / "logo.ico").write_bytes(b"\0\0\1\0" + bytes(range(256)) * 10)
    assert call("read", path="logo.ico").startswith("logo.ico is a binary file of 2,564 bytes")


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
            [sys.executable, "-I", "-S", isolated_main.__file__, lines.__file__],
            input=json.dumps({**request, "timeout_seconds": -1}).encode(),  # minus one: a second sooner
            pass_fds=(file.fileno(),),
            timeout=10,
            check=False,
        )
    assert child.returncode == -signal.SIGALRM


PNG = b"\x89PNG\r\n\x1a\n" + b"image"


def test_an_image_is_shown_as_it_was_when_it_was_read(workspace: Path, call_for_blocks: CallForBlocks) -> None:
    (workspace / "photo").write_bytes(PNG)
    text, image = call_for_blocks("read", path="photo")
    assert text.text == "photo: image/png, 13 bytes"
    assert isinstance(image, ImageBlock)
    (workspace / "photo").write_bytes(b"changed")
    assert Path(image.path).read_bytes() == PNG
    assert Path(image.path).is_relative_to(workspace / ".openclaw" / "media")


def test_an_image_too_large_for_a_model_is_refused(workspace: Path, call: Call) -> None:
    with (workspace / "big.png").open("wb") as file:
        file.write(PNG)
        file.truncate(4_000_000)
    with pytest.raises(ToolError, match="models take images of up to"):
        call("read", path="big.png")


def test_a_pdf_is_read_by_its_pages(workspace: Path, call: Call) -> None:
    (workspace / "r.pdf").write_bytes(pdf(*(f"Text of page {n}" for n in range(1, 31))))
    assert call("read", path="r.pdf", pages="2,4-5") == (
        "--- page 2 of 30 ---\nText of page 2\n\n--- page 4 of 30 ---\nText of page 4\n\n"
        "--- page 5 of 30 ---\nText of page 5\n[more follows: continue with pages=6-25]"
    )
    assert call("read", path="r.pdf").endswith("Text of page 20\n[more follows: continue with pages=21-30]")
    assert call("read", path="r.pdf", pages="30").endswith("Text of page 30")


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ("31", "has 30 pages; there is no page 31"),
        ("0", "expected a page"),
        ("5-2", "expected a page"),
        ("x", "expected a page"),
        ("1-21", "at most 20"),
        ("1-999999", "at most 20"),
        ("1-10,11-21", "at most 20"),
    ],
)
def test_pages_that_cannot_be_read_are_named(workspace: Path, call: Call, pages: str, why: str) -> None:
    (workspace / "r.pdf").write_bytes(pdf(*["text"] * 30))
    with pytest.raises(ToolError, match=why):
        call("read", path="r.pdf", pages=pages)
    (workspace / "a.txt").write_text("a")
    with pytest.raises(ToolError, match="is not a PDF and has no pages"):
        call("read", path="a.txt", pages="1")


def test_a_scanned_pdf_is_given_to_the_model_itself(workspace: Path, call_for_blocks: CallForBlocks) -> None:
    (workspace / "scan.pdf").write_bytes(pdf("", ""))
    text, document = call_for_blocks("read", path="scan.pdf")
    assert "holds no text" in text.text
    assert isinstance(document, FileBlock)
    assert Path(document.path).read_bytes() == pdf("", "")


@pytest.mark.parametrize("data", [b"%PDF-1.7\nnothing", pdf("x")[:200], b"%PDF-" + bytes(range(256)) * 50])
def test_a_broken_pdf_is_an_error_and_not_a_crash(workspace: Path, call: Call, data: bytes) -> None:
    (workspace / "broken.pdf").write_bytes(data)
    with pytest.raises(ToolError, match=r"broken\.pdf"):
        call("read", path="broken.pdf")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(workspace: Path, call: Call, encoding: str) -> None:
    (workspace / "w.txt").write_bytes("größe\nzwei\n".encode(encoding))
    assert call("read", path="w.txt") == "größe\nzwei"
    assert call("read", path="w.txt", pattern="zw.i") == "2: zwei"


def test_a_file_with_another_name_elsewhere_is_not_read(workspace: Path, call: Call) -> None:
    secret = workspace.parent / "secret"
    secret.write_text("the secret of the host")
    os.link(secret, workspace / "innocent.txt")
    for tool, more in {"read": {}, "edit": {"oldText": "secret", "newText": "x"}}.items():
        with pytest.raises(ToolError, match="2 hard links"):
            call(tool, path="innocent.txt", **more)
    call("write", path="innocent.txt", content="mine")
    assert secret.read_text() == "the secret of the host", "writing replaces the name, not the file"
    assert call("read", path="innocent.txt") == "mine"


def test_the_reference_names_of_arguments_are_accepted(workspace: Path, call: Call) -> None:
    call("write", file_path="a.txt", content="one two")
    call("edit", file_path="a.txt", old_string="one", new_string="1")
    assert call("read", file_path="a.txt") == "1 two"


def test_our_documentation_may_have_other_names(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers link the files of a package to their cache."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("ours")
    os.link(docs / "a.md", tmp_path / "cached")
    monkeypatch.setattr("openclaw_workers.tools.files.read.docs_dir", lambda: docs)
    assert call("read", path="docs://a.md") == "ours"
