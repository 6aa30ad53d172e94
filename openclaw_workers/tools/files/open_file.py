"""Open a file of the workspace for reading, and refuse what is not plainly one of its files."""

from __future__ import annotations

import os
import stat
from typing import IO

from openclaw_workers.domain.suggest import nearest
from openclaw_workers.errors import ToolError
from openclaw_workers.file_access import FILE
from openclaw_workers.tools.files.paths import WorkspacePath, parent_directory

_LISTED_NAMES = 50


def open_file(place: WorkspacePath, *, is_ours: bool = False) -> IO[bytes]:
    """Open a regular file, without following links. `is_ours`: it is no file of a workspace but of this installation.

    Raises:
        ToolError: it does not exist, is not a regular file, or has a further name that may be outside the workspace.
        OSError: the system refuses it.
    """
    if not place.parts:
        raise _directory_error(place.root, ".")
    with parent_directory(place) as parent:
        try:
            fd = os.open(place.parts[-1], FILE, dir_fd=parent)
        except FileNotFoundError:
            near = nearest(place.parts[-1], os.listdir(parent))
            hint = f"; did you mean {'/'.join((*place.parts[:-1], near))!r}?" if near else ""
            raise ToolError(f"no such file: {place.shown}{hint}") from None
    try:
        _check(fd, place, is_ours)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _check(fd: int, place: WorkspacePath, is_ours: bool) -> None:
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode):
        raise _directory_error(fd, place.shown)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{place.shown} is not a regular file and cannot be read")
    # Installers link the files of a package to their cache.
    if not is_ours and has_other_names(status):
        raise ToolError(
            f"{place.shown} has {status.st_nlink} hard links, and another of them may be outside the workspace; "
            "copy the file (cp a b && mv b a) and use the copy"
        )


def has_other_names(status: os.stat_result) -> bool:
    """Whether the file is reachable by another name too. Only a search of the whole disk would find that name,
    so such a file counts as outside. It could be a link to a file of the host that was put here to be read."""
    return status.st_nlink > 1


def _directory_error(directory: str | int, shown: str) -> ToolError:
    """The error lists the file names as untrusted output, because others chose them."""
    names = sorted(os.listdir(directory))
    if not names:
        return ToolError(f"{shown} is a directory, not a file; it holds nothing")
    listed = ", ".join(names[:_LISTED_NAMES])
    more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
    return ToolError(f"{shown} is a directory, not a file; it holds:", output=listed + more)
