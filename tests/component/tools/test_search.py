"""`grep`, `find` and `ls`: the same answers with and without ripgrep, and nothing from outside."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, ToolTimedOut, TurnAborted
from openclaw_workers.tools.files import grep as grep_module
from openclaw_workers.tools.files import ripgrep
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES
from tests.component.tools.conftest import Call


@pytest.fixture(params=[pytest.param("ripgrep", marks=pytest.mark.needs("ripgrep")), "python"])
def searcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What searches: ripgrep where it is installed, otherwise Python."""
    if request.param == "python":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
    return str(request.param)


@pytest.fixture
def project(workspace: Path) -> Path:
    files = {
        "a.py": "import os\n\ndef first():\n    return 'Needle'\n",
        "src/b.py": "x = 1\nneedle = 2\ny = 3\nneedle += 1\n",
        "src/c.txt": "needle in text\r\nmore\r\n",
        ".hidden": "needle, hidden",
        "node_modules/lib.js": "needle",
        ".git/config": "needle",
        "deep/er/d.py": "no match here",
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(text.encode())
    (workspace / "binary").write_bytes(b"needle\0")
    (workspace / "wide.txt").write_bytes("one\nneedle wide\n".encode("utf-16"))
    return workspace


@pytest.mark.usefixtures("searcher")
class TestGrep:
    def test_matching_lines_are_shown_with_their_place(self, project: Path, call: Call) -> None:
        assert call("grep", pattern="needle").split("\n") == [
            ".hidden:1: needle, hidden",
            "src/b.py:2: needle = 2",
            "src/b.py:4: needle += 1",
            "src/c.txt:1: needle in text",
            "wide.txt:2: needle wide",
        ]

    def test_the_search_can_be_narrowed(self, project: Path, call: Call) -> None:
        assert call("grep", pattern="needle", path="src", glob="*.py", limit=5) == (
            "src/b.py:2: needle = 2\nsrc/b.py:4: needle += 1"
        )
        assert call("grep", pattern="needle", path="src/c.txt") == "src/c.txt:1: needle in text"
        assert call("grep", pattern="NEEDLE", glob="src/*.{txt,md}", ignoreCase=True) == "src/c.txt:1: needle in text"
        assert call("grep", pattern="return '", literal=True, path="a.py") == "a.py:4:     return 'Needle'"
        assert call("grep", pattern="needle", path="node_modules") == "node_modules/lib.js:1: needle"
        assert call("grep", pattern="nowhere") == "(no match for 'nowhere')"

    def test_lines_around_a_match_are_shown(self, project: Path, call: Call) -> None:
        assert call("grep", pattern=r"needle \+?= 2|first", context=1) == (
            "a.py-2- \na.py:3: def first():\na.py-4-     return 'Needle'\n--\n"
            "src/b.py-1- x = 1\nsrc/b.py:2: needle = 2\nsrc/b.py-3- y = 3"
        )

    def test_a_limit_is_said(self, project: Path, call: Call) -> None:
        said = call("grep", pattern="needle", path="src", limit=1)
        assert said.startswith("src/b.py:2: needle = 2\n[stopped after 1 matching lines; there are more")
        (project / "long.txt").write_text("\n".join(f"long {'x' * 490}" for _ in range(900)))
        long = call("grep", pattern="^long", limit=1000)
        assert len(long.encode()) <= MAX_OUTPUT_BYTES + 200
        assert "there are more" in long

    def test_a_long_line_is_cut(self, project: Path, call: Call) -> None:
        (project / "min.js").write_text("a" * 100_000 + "unique")
        assert call("grep", pattern="unique").startswith("min.js:1: aaaa")
        assert call("grep", pattern="unique").endswith("[... 99,506 more characters]")

    @pytest.mark.parametrize("pattern", ["interface{}", r"(?<=x )= \d", "a(?=b)"])
    def test_patterns_that_ripgrep_does_not_know_are_found_all_the_same(
        self, project: Path, call: Call, pattern: str
    ) -> None:
        (project / "odd.go").write_text("interface{}\nx = 7\nab\n")
        assert "odd.go:" in call("grep", pattern=pattern, glob="*.go")

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            ({"pattern": "("}, "not a regular expression"),
            ({"pattern": "x", "glob": "["}, r"the glob '\[' is not complete"),
            ({"pattern": "x", "glob": "{a"}, "is not complete"),
            ({"pattern": "x", "glob": "!*.py"}, "cannot begin with !"),
            ({"pattern": "x", "path": "nowhere"}, "no such file or directory: nowhere"),
            ({"pattern": "x", "path": ".."}, "outside the workspace"),
        ],
    )
    def test_what_cannot_be_searched_is_explained(
        self, project: Path, call: Call, arguments: dict[str, str], why: str
    ) -> None:
        with pytest.raises(ToolError, match=why):
            call("grep", **arguments)

    def test_names_of_any_kind_are_found(self, project: Path, call: Call) -> None:
        for name in (b"-e", b"new\nline", b"caf\xe9", "雪.txt".encode(), b" "):
            (project / os.fsdecode(name)).write_text("strange\n")
        assert call("grep", pattern="strange").count(":1: strange") == 5

    def test_links_and_files_with_other_names_are_not_searched(self, project: Path, call: Call) -> None:
        outside = project.parent / "outside"
        outside.mkdir()
        (outside / "secret").write_text("needle of the host")
        (project / "link").symlink_to(outside / "secret")
        (project / "folder").symlink_to(outside)
        os.link(outside / "secret", project / "hard")
        assert "house" not in call("grep", pattern="needle")
        assert call("grep", pattern="house") == "(no match for 'house')"
        assert call("grep", pattern="house", path="hard") == "(no match for 'house')"
        with pytest.raises(ToolError, match="outside the workspace"):
            call("grep", pattern="house", path="folder")

    def test_a_pattern_that_never_ends_blocks_nobody(
        self, project: Path, call: Call, searcher: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(grep_module, "_SECONDS", 0.5)
        (project / "evil.txt").write_text("a" * 40 + "!")
        if searcher == "ripgrep":  # its patterns always end in time
            assert call("grep", pattern="(a+)+$") == "(no match for '(a+)+$')"
        pattern = r"(a+)+$" if searcher == "python" else r"(?=a)(a+)+$"
        began = time.monotonic()
        with pytest.raises(ToolTimedOut, match="use a narrower path or glob, or a simpler pattern"):
            call("grep", pattern=pattern)
        assert time.monotonic() - began < 3

    def test_a_stopped_turn_ends_the_search(self, project: Path, call: Call, cancel: Cancel) -> None:
        (project / "evil.txt").write_text("a" * 40 + "!")
        threading.Timer(0.2, cancel.set, [TurnAborted("stopped")]).start()
        began = time.monotonic()
        with pytest.raises(TurnAborted):
            call("grep", pattern=r"(?=a)(a+)+$")
        assert time.monotonic() - began < 2


@pytest.mark.needs("ripgrep")
def test_what_ripgrep_finds_outside_is_not_shown(
    project: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that is exchanged for a link while ripgrep walks leads it outside: it opens files by their paths."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("x\nthe secret needle\n")
    real = ripgrep.search

    def search_outside(rg: str, directory: str, *args: str, **more: object) -> object:
        return real(rg, str(outside), *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ripgrep, "search", search_outside)
    (project / "src" / "b.py").unlink()
    (project / "src").rename(project / "moved")
    (project / "src").symlink_to(outside)
    said = call("grep", pattern="needle")
    assert "secret" not in said


class TestFind:
    def test_files_are_found_by_their_names(self, project: Path, call: Call) -> None:
        assert call("find", pattern="*.py").split("\n") == ["a.py", "deep/er/d.py", "src/b.py"]
        assert call("find", pattern="src/*").split("\n") == ["src/b.py", "src/c.txt"]
        assert call("find", pattern="**/er/*").split("\n") == ["deep/er/d.py"]
        assert call("find", pattern="[bc].*", path="src").split("\n") == ["src/b.py", "src/c.txt"]
        assert call("find", pattern="{deep,.git}").split("\n") == [".git/", "deep/"]
        assert call("find", pattern="*.none") == "(nothing matches '*.none')"

    def test_a_limit_is_said(self, project: Path, call: Call) -> None:
        assert call("find", pattern="*.py", limit=2) == (
            "a.py\ndeep/er/d.py\n[stopped after 2; there are more: narrow the pattern or the path]"
        )

    def test_what_cannot_be_searched_is_explained(self, project: Path, call: Call) -> None:
        for arguments, why in (
            ({"pattern": "["}, "is not complete"),
            ({"pattern": "*", "path": "a.py"}, "is a file, not a directory"),
            ({"pattern": "*", "path": "../.."}, "outside the workspace"),
        ):
            with pytest.raises(ToolError, match=why):
                call("find", **arguments)

    def test_links_are_named_and_not_entered(self, project: Path, call: Call) -> None:
        outside = project.parent / "outside"
        outside.mkdir()
        (outside / "secret.key").touch()
        (project / "link").symlink_to(outside)
        assert call("find", pattern="*.key") == "(nothing matches '*.key')"
        assert call("find", pattern="link") == "link"

    def test_a_deep_tree_is_walked_to_a_bounded_depth(self, workspace: Path, call: Call) -> None:
        fd = os.open(workspace, os.O_RDONLY)
        for _ in range(300):
            os.mkdir("d", dir_fd=fd)
            inner = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = inner
        os.close(fd)
        assert call("find", pattern="d", limit=5000).count("\n") == 100

    def test_a_glob_that_never_ends_blocks_nobody(
        self, workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("openclaw_workers.tools.files.find._SECONDS", 0.5)
        (workspace / ("a" * 200)).touch()
        with pytest.raises(ToolTimedOut, match="did not finish"):
            call("find", pattern="*a" * 30 + "b")


class TestLs:
    def test_entries_are_listed_with_what_they_are(self, project: Path, call: Call) -> None:
        (project / "link").symlink_to("/etc/passwd")
        os.mkfifo(project / "pipe")
        assert call("ls").split("\n") == [
            *(".git/", ".hidden 14", "a.py 44", "binary 7", "deep/", "link@", "node_modules/"),
            *("pipe (no regular file)", "src/", "wide.txt 34"),
        ]
        assert call("ls", path="src") == "b.py 35\nc.txt 22"
        (project / "empty").mkdir()
        assert call("ls", path="empty") == "(empty is empty)"

    def test_a_limit_is_said(self, project: Path, call: Call) -> None:
        assert call("ls", limit=1) == ".git/\n[7 more; use find with a pattern, or a higher limit]"

    def test_what_cannot_be_listed_is_explained(self, project: Path, call: Call) -> None:
        (project / "out").symlink_to("/etc")
        for path, why in (("out", "outside"), ("..", "outside"), ("a.py", "is a file"), ("none", "No such file")):
            with pytest.raises(ToolError, match=why):
                call("ls", path=path)
