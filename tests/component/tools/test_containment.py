"""No file tool reads or changes anything outside the workspace, whatever it is asked and whoever interferes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.files import ripgrep
from openclaw_workers.tools.files.paths import WorkspacePath, locate
from tests.component.tools.conftest import answer_of

SECRET = "the secret of the host"
MOVABLE = "a file that a patch moves"
PARTS = ["..", ".", "", "a", "file", "to_outside", "to_secret", "to_a", "loop", "hard", "new", "~", "secret", "é"]
PATHS = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(["", "/", "{root}/", "{outside}/"]),
    st.lists(st.sampled_from(PARTS), max_size=5),
)


@pytest.fixture
def furnished(workspace: Path) -> Path:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (workspace / "a").mkdir()
    (workspace / "a/file").write_text("inside")
    (workspace / "to_outside").symlink_to(outside)
    (workspace / "a/to_secret").symlink_to("../../outside/secret")
    (workspace / "to_a").symlink_to("a")
    (workspace / "loop").symlink_to("loop")
    os.link(outside / "secret", workspace / "hard")
    return workspace


def outside_of(workspace: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in (workspace.parent / "outside").rglob("*") if path.is_file()}


def calls(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "read", {"path": path}
    yield "read", {"path": path, "pattern": "secret"}
    yield "write", {"path": path, "content": "overwritten"}
    yield "edit", {"path": path, "oldText": "the secret", "newText": "no secret"}
    yield "apply_patch", {"input": f"*** Begin Patch\n*** Update File: {path}\n-{SECRET}\n+x\n*** End Patch"}
    yield "apply_patch", {"input": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}
    yield "apply_patch", {"input": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"}
    for old, new, line in (("a/movable", path, MOVABLE), (path, "moved", SECRET)):
        moving = f"*** Update File: {old}\n*** Move to: {new}\n-{line}\n+x"
        yield "apply_patch", {"input": f"*** Begin Patch\n{moving}\n*** End Patch"}
    yield "ls", {"path": path}


def answer(name: str, arguments: dict[str, Any], context: ToolContext) -> str:
    """What a model would read."""
    try:
        return str(answer_of(name, arguments, context))
    except ToolError as refused:
        return f"{refused} {refused.output}"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PATHS)
def test_no_path_leads_outside(furnished: Path, context: ToolContext, path: str) -> None:
    before = outside_of(furnished)
    named = path.format(root=furnished, outside=furnished.parent / "outside")
    for name, arguments in calls(named):
        (furnished / "a/movable").write_text(MOVABLE)
        given = str(arguments)
        assert SECRET not in answer(name, arguments, context).replace(given, "").replace(f"-{SECRET}", "") or (
            SECRET in given
        )
        assert outside_of(furnished) == before
    for name, target in (("to_outside", furnished.parent / "outside"), ("loop", "loop"), ("to_a", "a")):
        if not (furnished / name).is_symlink():
            with suppress(FileNotFoundError):
                (furnished / name).unlink()
            (furnished / name).symlink_to(target)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PATHS, st.sampled_from(["secret", ".", ""]), st.sampled_from(["*", "**/*", "secret", "../*", "to_outside/*"]))
def test_no_search_leads_outside(furnished: Path, context: ToolContext, path: str, pattern: str, glob: str) -> None:
    named = path.format(root=furnished, outside=furnished.parent / "outside") or "."
    for rg in (ripgrep.program, lambda: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ripgrep, "program", rg)
            said = answer("grep", {"pattern": pattern or "the", "path": named, "glob": glob}, context)
        assert "of the host" not in said
    found = answer("find", {"pattern": glob, "path": named}, context)
    assert "outside/secret" not in found.replace(named, "")


ARGUMENTS: dict[str, dict[str, Any]] = {
    "read": {"path": "a/file"},
    "write": {"path": "a/file", "content": "inside"},
    "edit": {"path": "a/file", "oldText": "i", "newText": "i ", "replaceAll": True},
    "apply_patch": {"input": "*** Begin Patch\n*** Update File: a/file\n-inside\n+inside\n*** End Patch"},
    "grep": {"pattern": "secret|inside", "path": "a"},
    "find": {"pattern": "*", "path": "a"},
    "ls": {"path": "a"},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_directory_exchanged_for_a_link_after_the_check_is_an_error(
    furnished: Path, context: ToolContext, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (furnished.parent / "outside" / "file").write_text(SECRET.replace("secret", "inside"))
    before = outside_of(furnished)
    module = f"openclaw_workers.tools.files.{name}"

    def locate_late(workspace: Path, named: str, **more: bool) -> WorkspacePath:
        place = locate(workspace, named, **more)
        if place.parts and not (furnished / "a").is_symlink():
            (furnished / "a").rename(furnished / "moved")
            (furnished / "a").symlink_to(furnished.parent / "outside")
        return place

    monkeypatch.setattr(f"{module}.locate", locate_late)
    monkeypatch.setattr(ripgrep, "program", lambda: None)
    with pytest.raises(ToolError, match="cannot"):
        answer_of(name, ARGUMENTS[name], context)
    assert outside_of(furnished) == before


# Exchanges a directory and a link to outside as fast as it can, each time in one step.
ATTACK = """
import ctypes, sys
libc = ctypes.CDLL(None)
real, link = (name.encode() for name in sys.argv[1:])
print("begun", flush=True)
while True:
    libc.renameat2(-100, real, -100, link, 2)
"""


@pytest.fixture
def attacked(furnished: Path) -> Iterator[Path]:
    (furnished.parent / "outside" / "file").write_text(SECRET)
    (furnished / "a/to_secret").unlink()
    (furnished / "evil").symlink_to(furnished.parent / "outside")
    argv = [sys.executable, "-c", ATTACK, str(furnished / "a"), str(furnished / "evil")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as attacker:
        assert attacker.stdout is not None
        attacker.stdout.readline()
        yield furnished
        attacker.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems exchange names in another way")
@pytest.mark.parametrize("tool", ["read", "write", "edit", "apply_patch", "grep", "grep without ripgrep", "find", "ls"])
def test_a_directory_exchanged_for_a_link_meanwhile_leads_nowhere(
    attacked: Path, context: ToolContext, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = outside_of(attacked)
    if tool == "grep without ripgrep":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
    monkeypatch.setitem(ARGUMENTS, "grep", {"pattern": "secret|inside"})
    name = tool.split(maxsplit=1)[0]
    said = [answer(name, ARGUMENTS[name], context) for _ in range(12 if name in ("grep", "find") else 150)]
    assert not [each for each in said if SECRET in each]
    assert not [each for each in said if name in ("ls", "find") and "secret" in each]
    assert outside_of(attacked) == before
