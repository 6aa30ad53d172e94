"""Globs as `find` and `grep` understand them."""

from __future__ import annotations

import pytest

from openclaw_workers.tools.files.search_script import glob_pattern


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["a.py", "x/src/a.py", "src/x/a.py"]),
        ("/a", ["a"], ["x/a"]),
        ("./a*", ["ab"], ["x/ab"]),
        ("**/a", ["a", "x/y/a"], ["ab"]),
        ("src/**", ["src/a", "src/x/y"], ["src", "a/src/x"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("[]]", ["]"], ["x"]),
        ("*.{py,ts{x,}}", ["a.py", "a.ts", "a.tsx"], ["a.js"]),
        ("a,b", ["a,b"], ["a"]),
        (r"\*", ["*"], ["a"]),
        ("a.b", ["a.b"], ["axb"]),
        ("雪*", ["雪人"], ["人"]),
    ],
)
def test_a_glob_matches(glob: str, matching: list[str], other: list[str]) -> None:
    pattern = glob_pattern(glob)
    assert [path for path in matching + other if pattern.match(path)] == matching


@pytest.mark.parametrize("glob", ["[", "[a", "{a", "{a,{b}"])
def test_an_incomplete_glob_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match="without"):
        glob_pattern(glob)
