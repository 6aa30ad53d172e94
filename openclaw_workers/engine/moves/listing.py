"""What lies in a workspace: directories, files and links, in one order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openclaw_workers.place_id import WORKSPACE_FILE

Kind = Literal["directory", "file", "link"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    path: str
    """Below the workspace, with slashes."""
    kind: Kind
    mode: int
    size: int = 0
    changed_ns: int = 0
    target: str = ""
    """Where a link points to."""

    def as_list(self) -> list[Any]:
        return [self.path, self.kind, self.mode, self.size, self.changed_ns, self.target]


def entries(root: Path) -> Iterator[FileEntry]:
    """Everything below `root`, each directory before what it holds. Sockets, pipes and devices are left out.

    Raises:
        OSError: a directory cannot be read.
    """
    yield from _below(root, "")


def _below(root: Path, inside: str) -> Iterator[FileEntry]:
    with os.scandir(root / inside) as found:
        names = sorted(each.name for each in found)
    for name in names:
        path = f"{inside}/{name}" if inside else name
        # The id of the old place stays behind. The copy gets an id of its own.
        if path == WORKSPACE_FILE:
            continue
        entry = look_at(root, path)
        if entry is not None:
            yield entry
            if entry.kind == "directory":
                yield from _below(root, path)


def look_at(root: Path, path: str) -> FileEntry | None:
    """One entry; None if it is not there, or of another kind."""
    try:
        found = os.lstat(root / path)
        if stat.S_ISLNK(found.st_mode):
            return FileEntry(path, "link", 0, target=os.readlink(root / path))
    except FileNotFoundError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return FileEntry(path, "directory", mode)
    if stat.S_ISREG(found.st_mode):
        return FileEntry(path, "file", mode, found.st_size, found.st_mtime_ns)
    return None


def is_inside(path: str) -> bool:
    """Whether a path that another host sent stays below the workspace."""
    parts = path.split("/")
    return bool(path) and not path.startswith("/") and not {"", ".", ".."}.intersection(parts) and "\0" not in path
