"""`edit` replaces exactly what it was told, or nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, ToolContext
from openclaw_workers.tools.files.edit import Edit
from openclaw_workers.tools.files.text_content import decode_text
from tests.component.tools.conftest import Call


def test_one_place_is_changed_and_the_rest_stays(workspace: Path, call: Call) -> None:
    (workspace / "a.py").write_text("def f():\n    return 1\n\ndef g():\n    return 2\n")
    (workspace / "a.py").chmod(0o755)
    assert call("edit", path="a.py", oldText="return 2", newText="return 3") == "Changed a.py in one place, at line 5."
    assert (workspace / "a.py").read_text() == "def f():\n    return 1\n\ndef g():\n    return 3\n"
    assert (workspace / "a.py").stat().st_mode & 0o777 == 0o755
    assert Edit.effect is Effect.ONCE, "a repeated replacement may replace twice"


def test_all_places_are_changed_if_wanted(workspace: Path, call: Call) -> None:
    (workspace / "a.txt").write_text("x\ny\nx\n")
    said = call("edit", path="a.txt", oldText="x", newText="z", replaceAll=True)
    assert said == "Changed a.txt in 2 places, the first at line 1."
    assert (workspace / "a.txt").read_text() == "z\ny\nz\n"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("x = 1", "x = 2", r"occurs 2 times in a\.py \(at lines 1, 3\)"),
        ("nowhere", "y", "does not occur in a.py; nothing was changed. Read the file"),
        ("if y:\n  z", "q", "Lines 4 to 5 differ from it in white space only"),
        ("if y:\nother", "q", "Its first line is at line 4, but not what follows"),
        ("if y:", "if y:", "are the same"),
    ],
)
def test_what_does_not_fit_is_explained_and_changes_nothing(
    workspace: Path, call: Call, old: str, new: str, why: str
) -> None:
    text = "x = 1\n# and again\nx = 1\nif y:\n\tz\n"
    (workspace / "a.py").write_text(text)
    with pytest.raises(ToolError, match=why):
        call("edit", path="a.py", oldText=old, newText=new)
    assert (workspace / "a.py").read_text() == text


@pytest.mark.parametrize(
    "data",
    [
        b"one\r\ntwo\r\n",
        "one\r\ntwo\r\n".encode("utf-16"),
        b"\xef\xbb\xbfone\ntwo\n",
        b"caf\xe9\none\ntwo\n",
        "one\ntwo\n\u2028\x0b\x0c".encode(),
    ],
    ids=["crlf", "utf-16", "mark", "latin-1", "odd line ends"],
)
def test_encoding_and_line_ends_are_kept(workspace: Path, call: Call, data: bytes) -> None:
    (workspace / "a.txt").write_bytes(data)
    call("edit", path="a.txt", oldText="one\ntwo", newText="1\n2")
    encoded = [(text.encode("utf-16-le"), new.encode("utf-16-le")) for text, new in (("one", "1"), ("two", "2"))]
    plain = data.replace(b"one", b"1").replace(b"two", b"2")
    wide = data.replace(*encoded[0]).replace(*encoded[1])
    assert (workspace / "a.txt").read_bytes() in (plain, wide)
    assert (workspace / "a.txt").read_bytes() != data


def test_a_binary_file_is_left_alone(workspace: Path, call: Call) -> None:
    (workspace / "a.bin").write_bytes(b"\0one\0")
    with pytest.raises(ToolError, match="binary file"):
        call("edit", path="a.bin", oldText="one", newText="two")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.binary(min_size=1, max_size=3), st.binary(max_size=3))
def test_bytes_that_are_not_replaced_are_never_changed(
    workspace: Path, context: ToolContext, data: bytes, old: bytes, new: bytes
) -> None:
    """For any file: either the call fails and nothing changed, or only the wanted text did."""
    (workspace / "any").write_bytes(data)
    before, after = old.decode("latin-1"), new.decode("latin-1")
    try:
        Edit().run(Edit().parse({"path": "any", "oldText": before, "newText": after, "replaceAll": True}), context)
    except ToolError:
        assert (workspace / "any").read_bytes() == data
    else:
        normal = {before, before.replace("\r\n", "\n"), before.replace("\n", "\r\n")}
        fits = {after, after.replace("\r\n", "\n"), after.replace("\r\n", "\n").replace("\n", "\r\n")}
        wanted = {data.replace(one.encode(), other.encode()) for one in normal if one for other in fits}
        assert (workspace / "any").read_bytes() in wanted


def test_two_edits_at_the_same_time_are_both_made(workspace: Path, context: ToolContext) -> None:
    names = [f"<{n}>" for n in range(24)]
    (workspace / "a.txt").write_text("\n".join(names))

    def edit(mine: list[str]) -> None:
        for name in mine:
            Edit().run(Edit().parse({"path": "a.txt", "oldText": name, "newText": "done"}), context)

    threads = [threading.Thread(target=edit, args=(names[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (workspace / "a.txt").read_text().split("\n") == ["done"] * 24


def test_a_file_that_others_change_meanwhile_is_not_overwritten(
    workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a.txt").write_text("one")

    def decode_late(data: bytes, shown: str) -> object:
        (workspace / "a.txt").write_text("one, changed by a command")
        return decode_text(data, shown)

    monkeypatch.setattr("openclaw_workers.tools.files.edit.decode_text", decode_late)
    with pytest.raises(ToolError, match="was changed by another process"):
        call("edit", path="a.txt", oldText="one", newText="two")
    assert (workspace / "a.txt").read_text() == "one, changed by a command"
