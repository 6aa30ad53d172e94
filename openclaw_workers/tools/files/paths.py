"""Keep the paths that a model names inside the agent's workspace.

A path is resolved once, following all symbolic links, and compared with the workspace. The file is then opened step by
step from the workspace's descriptor without following links. So a link created in between causes an error and cannot
lead outside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.errors import ToolError
from openclaw_workers.file_access import open_directory


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A path inside the workspace without links and without `..`."""

    root: str
    parts: tuple[str, ...]

    @property
    def shown(self) -> str:
        return "/".join(self.parts) or "."

    @property
    def path(self) -> str:
        return os.path.join(self.root, *self.parts)


def locate(workspace: Path, named: str, *, follow_last: bool = True) -> WorkspacePath:
    """Resolve a path from a model: relative to the workspace, or absolute and inside it.

    Without `follow_last`, a link at its end is not followed: to delete a link is not to delete what it leads to.

    Raises:
        ToolError: the path is empty, impossible, or outside the workspace.
    """
    if not named.strip():
        raise ToolError("the path is empty; name a file in the workspace, such as 'notes.txt'")
    if "\0" in named:
        raise ToolError(f"the path {named!r} holds a NUL character; no file can have that name")
    # No shell expands it here: it would name a directory called `~` in the workspace.
    if named == "~" or named.startswith("~/"):
        raise ToolError(f"{named!r} is outside the workspace {workspace}; name a path relative to it")
    root = os.path.realpath(workspace)
    whole = os.path.join(root, named)
    last = os.path.basename(whole)
    try:
        if follow_last or last in ("", ".", ".."):
            real = os.path.realpath(whole)
        else:
            real = os.path.join(os.path.realpath(os.path.dirname(whole)), last)
    except OSError as error:
        raise ToolError(f"cannot resolve {named!r}: {error.strerror}; name another path") from error
    if real == root:
        return WorkspacePath(root, ())
    # With the slash, so that /data/agent does not contain /data/agent2.
    inside = root.rstrip("/") + "/"
    if not real.startswith(inside):
        raise ToolError(f"{named!r} is outside the workspace {workspace}; name a path relative to it")
    return WorkspacePath(root, tuple(real[len(inside) :].split("/")))


@contextmanager
def parent_directory(place: WorkspacePath, *, create: bool = False) -> Iterator[int]:
    """Open the directory that contains `place` without following links; `create` makes missing directories."""
    if create:
        os.makedirs(place.root, exist_ok=True)
    parent = open_directory(place.root, place.parts[:-1], create=create)
    try:
        yield parent
    finally:
        os.close(parent)


@contextmanager
def open_place(place: WorkspacePath) -> Iterator[int]:
    """Open the directory itself without following links."""
    fd = open_directory(place.root, place.parts)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def os_errors_as_tool_errors(doing: str, place: WorkspacePath) -> Iterator[None]:
    """Turn an OSError into a message that a model can act on."""
    try:
        yield
    except NotADirectoryError as error:
        raise ToolError(f"cannot {doing} {place.shown}: a part of that path is a file, not a directory") from error
    except OSError as error:
        raise ToolError(f"cannot {doing} {place.shown}: {error.strerror or error}") from error
