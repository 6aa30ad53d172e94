"""No path a model can write leads out of the workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import ToolAnswer, ToolContext
from openclaw_workers.tools.files.paths import locate, parent_directory
from openclaw_workers.tools.files.read import Read, ReadInput
from openclaw_workers.tools.files.write import Write, WriteInput
from tests.component.tools.conftest import Call

SECRET = "the secret of the host"

# Names that exist, names that do not, links in and out, and everything that makes paths difficult.
PARTS = [
    "..",
    ".",
    "",
    "a",
    "b",
    "file",
    "to_outside",
    "to_a",
    "loop",
    "to_secret",
    "new",
    "~",
    " ",
    "\\",
    "é",
    "x" * 300,
]


@pytest.fixture
def furnished(workspace: Path) -> Path:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (workspace.parent / "workspace-of-another").mkdir()
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "file").write_text("inside")
    (workspace / "to_outside").symlink_to(outside)
    (workspace / "to_a").symlink_to("a")
    (workspace / "loop").symlink_to("loop")
    (workspace / "a" / "to_secret").symlink_to("../../outside/secret")
    return workspace


def said_by(call: Callable[[], ToolAnswer]) -> str:
    try:
        return str(call())
    except ToolError as refused:
        return str(refused)


def snapshot(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PARTS), max_size=6), st.sampled_from(["", "/", "//", "{root}/", "{root}-of-another/"]))
def test_no_combination_of_parts_reaches_outside(
    furnished: Path, context: ToolContext, parts: list[str], start: str
) -> None:
    named = start.format(root=furnished) + "/".join(parts)
    outside_before = snapshot(furnished.parent / "outside")
    with suppress(ToolError):
        real = os.path.realpath(locate(furnished, named).path)
        assert real == str(furnished) or real.startswith(f"{furnished}/")
    assert SECRET not in said_by(lambda: Read().run(ReadInput(path=named), context))
    said_by(lambda: Write().run(WriteInput(path=named, content="overwritten"), context))
    assert snapshot(furnished.parent / "outside") == outside_before
    assert list((furnished.parent / "workspace-of-another").iterdir()) == []
    (furnished / "a" / "file").write_text("inside")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_any_text_is_a_path_inside_or_a_clear_error(workspace: Path, named: str) -> None:
    with suppress(ToolError):
        place = locate(workspace, named)
        assert place.path == str(workspace) or place.path.startswith(f"{workspace}/")


@pytest.mark.parametrize(
    "named",
    [
        "../outside/secret",
        "/etc/passwd",
        "to_outside/secret",
        "a/to_secret",
        "~/x",
        "a/../../outside/secret",
        "\0",
        " ",
    ],
)
def test_a_path_outside_is_rejected_with_the_reason(furnished: Path, call: Call, named: str) -> None:
    for tool, more in (("read", {}), ("write", {"content": "x"})):
        with pytest.raises(ToolError, match=r"outside the workspace|NUL|empty"):
            call(tool, path=named, **more)


def test_a_link_that_stays_inside_is_followed(furnished: Path, call: Call) -> None:
    assert call("read", path="to_a/file") == "inside"
    assert call("read", path=f"{furnished}/a/file") == "inside"


def test_a_link_created_after_the_check_is_not_followed(furnished: Path) -> None:
    place = locate(furnished, "a/b/new")
    (furnished / "a" / "b").rmdir()
    (furnished / "a" / "b").symlink_to(furnished.parent / "outside")
    with pytest.raises(OSError), parent_directory(place, create=True):  # noqa: PT011 (the code differs by system)
        pass


def test_a_workspace_reached_through_a_link_is_still_the_workspace(furnished: Path, context: ToolContext) -> None:
    (furnished.parent / "alias").symlink_to(furnished)
    assert locate(furnished.parent / "alias", f"{furnished}/a/file").shown == "a/file"
