"""The patch format, and how its lines are found in a file."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.files.patch_format import AddFile, Chunk, DeleteFile, UpdateFile, parse_patch
from openclaw_workers.tools.files.patch_lines import apply_chunks


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def updated(text: str, *lines: str) -> str:
    (change,) = parse_patch(patch("*** Update File: a", *lines))
    assert isinstance(change, UpdateFile)
    return apply_chunks(text, change.chunks, "a")


def test_each_kind_of_change_is_read() -> None:
    changes = parse_patch(
        patch(
            *("*** Add File: new.txt", "+one", "+", "*** Delete File: old.txt", "*** Update File: a.py"),
            *("*** Move to: b.py", "@@ class A", "@@ def f", " keep", "-go", "+come", "*** End of File"),
        )
    )
    chunk = Chunk(8, ["class A", "def f"], ["keep", "go"], ["keep", "come"], at_end=True)
    assert changes == [AddFile("new.txt", ["one", ""]), DeleteFile("old.txt"), UpdateFile("a.py", "b.py", [chunk])]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must begin with"),
        ("*** Begin Patch\n*** Add File: a\n+x", "must end with"),
        (patch(), "changes nothing"),
        (patch("hello"), "line 2 of the patch is 'hello'; expected"),
        (patch("*** Add File: "), "names no file"),
        (patch("*** Add File: a", "no plus"), "line 3 of the patch is 'no plus'; expected a line of the new file"),
        (patch("*** Update File: a"), "changes nothing in a"),
        (patch("*** Update File: a", "@@ only a context"), "has no lines"),
        (patch("*** Update File: a", "=x"), "expected a line that begins with a space"),
        (patch("*** Delete File: a", "-x"), "expected the next file"),
    ],
)
def test_a_wrong_line_is_named(text: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        parse_patch(text)


@pytest.mark.parametrize(
    "wrapped", ["{}", "```\n{}\n```", "apply_patch <<'EOF'\n{}\nEOF", "<<EOF\n{}\nEOF", "\n\n{}\n\n"]
)
def test_a_patch_may_come_in_a_fence_or_as_a_command(wrapped: str) -> None:
    assert parse_patch(wrapped.format(patch("*** Add File: a", "+x"))) == [AddFile("a", ["x"])]


def test_lines_are_found_after_their_context() -> None:
    text = "class A:\n  def f(self):\n    pass\nclass B:\n  def f(self):\n    pass\n"
    changed = updated(text, "@@ class B:", "@@   def f(self):", "-    pass", "+    return")
    assert changed == "class A:\n  def f(self):\n    pass\nclass B:\n  def f(self):\n    return\n"


def test_lines_may_differ_in_white_space_and_typography() -> None:
    assert updated("a  \nb\n", "-a", "+x") == "x\nb\n"
    assert updated("    a\nb\n", "-a", "+x") == "x\nb\n"
    assert updated("“a” – b\n", '-"a" - b', "+x") == "x\n"
    assert updated(" a\na\n", "-a", "+x") == " a\nx\n", "an exact match comes first"


def test_the_last_lines_are_meant_where_it_is_said() -> None:
    assert updated("a\nb\na\n", "-a", "+x", "*** End of File") == "a\nb\nx\n"
    with pytest.raises(ToolError, match="at the end of the file"):
        updated("a\nb\n", "-a", "+x", "*** End of File")


def test_lines_without_old_ones_go_after_their_context_or_to_the_end() -> None:
    assert updated("a\nb\n", "+c") == "a\nb\nc\n"
    assert updated("a\nb\n", "@@ a", "+c") == "a\nc\nb\n"
    assert updated("", "+c") == "c\n"


def test_heads_of_unified_diffs_and_empty_lines_are_understood() -> None:
    assert updated("a\n\nb\n", "@@ -1,3 +1,3 @@", " a", "", "-b", "+c", "") == "a\n\nc\n"


def test_changes_come_in_the_order_of_the_file() -> None:
    assert updated("a\nb\na\nb\n", "-a", "+1", "@@", "-a", "+2") == "1\nb\n2\nb\n"
    with pytest.raises(ToolError, match="after line 2"):
        updated("a\nb\n", "-b", "+1", "@@", "-a", "+2")


LINE = st.text(alphabet="ab é\t", max_size=4)


@given(st.lists(LINE, min_size=1, max_size=12), st.data())
def test_a_patch_made_from_a_change_makes_that_change(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    new = data.draw(st.lists(LINE, max_size=4))
    text = "\n".join([*lines, ""])
    before, after = lines[:start], lines[end:]
    chunk = Chunk(1, [], [*before, *lines[start:end], *after], [*before, *new, *after])
    changed = [*before, *new, *after]
    assert apply_chunks(text, [chunk], "a") == ("\n".join([*changed, ""]) if changed else "")


@given(st.lists(st.sampled_from(["+a", "-a", " a", "", "@@", "@@ a", "*** End of File", "*** Move to: b"]), max_size=8))
def test_any_patch_is_read_or_refused_with_a_reason(lines: list[str]) -> None:
    with suppress(ToolError):
        updated("a\nb\n", *lines)
