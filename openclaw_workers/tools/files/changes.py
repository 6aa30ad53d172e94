"""Change files of the workspace: one change at a time, each file replaced atomically."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError
from openclaw_workers.file_access import DIRECTORY, replace_file
from openclaw_workers.tools.files.open_file import open_file
from openclaw_workers.tools.files.paths import WorkspacePath, os_errors_as_tool_errors, parent_directory
from openclaw_workers.tools.files.text_content import MAX_TEXT_BYTES

WRITING_TOOLS = frozenset({"write", "edit", "apply_patch"})
"""The tools that change files."""

_LOCK_SECONDS = 20.0
_LOCK_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was read."""

    data: bytes
    mode: int
    version: tuple[int, int, int]


@contextmanager
def one_change_at_a_time(root: str, cancel: Cancel) -> Iterator[None]:
    """Hold the workspace's lock. Without it, of two edits of one file at the same time one would be lost.

    Raises:
        ToolError: others hold the lock for too long.
    """
    os.makedirs(root, exist_ok=True)
    fd = os.open(root, DIRECTORY)
    until = time.monotonic() + _LOCK_SECONDS
    try:
        while True:
            try:
                # A lock that waits in the kernel could not be given up when the turn is stopped, so it is polled.
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise ToolError("other calls keep changing files of this workspace; try again later") from None
                cancel.wait(_LOCK_POLL_SECONDS)
            except OSError:
                break  # a file system without locks
        yield
    finally:
        os.close(fd)


def read_whole(place: WorkspacePath) -> Snapshot:
    """Read a file to change it.

    Raises:
        ToolError: it cannot be read, or is too large to be changed.
    """
    with os_errors_as_tool_errors("read", place), open_file(place) as file:
        status = os.fstat(file.fileno())
        if status.st_size > MAX_TEXT_BYTES:
            raise ToolError(f"{place.shown} has {status.st_size:,} bytes; at most {MAX_TEXT_BYTES:,} can be changed")
        return Snapshot(file.read(MAX_TEXT_BYTES + 1), stat.S_IMODE(status.st_mode), _version(status))


def write_whole(place: WorkspacePath, data: bytes, *, before: Snapshot | None = None, mode: int | None = None) -> bool:
    """Write a file, making missing directories; return whether it is new.

    `before`: it must still be as it was read. `mode`: the permissions of a new file; an existing one keeps its own.

    Raises:
        ToolError: it cannot be written, or has changed.
    """
    with os_errors_as_tool_errors("write", place), parent_directory(place, create=True) as parent:
        found = _status(place.parts[-1], parent)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise ToolError(f"{place.shown} is a directory; name the file to write in it")
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{place.shown} is not a regular file and is not changed; use another name")
        if before is not None and (found is None or _version(found) != before.version):
            raise ToolError(f"{place.shown} was changed by another process; read it again and repeat the change")
        replace_file(parent, place.parts[-1], data, mode if found is None else stat.S_IMODE(found.st_mode))
    return found is None


def status_of(place: WorkspacePath) -> os.stat_result | None:
    """What is there, without following a link; None if nothing is."""
    try:
        with os_errors_as_tool_errors("look at", place), parent_directory(place) as parent:
            return _status(place.parts[-1], parent)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def delete(place: WorkspacePath) -> None:
    """Delete a file, or a link but not what it leads to."""
    with os_errors_as_tool_errors("delete", place), parent_directory(place) as parent:
        os.unlink(place.parts[-1], dir_fd=parent)


def rename(place: WorkspacePath, name: str) -> WorkspacePath:
    """Give a file another name in its directory."""
    with os_errors_as_tool_errors("rename", place), parent_directory(place) as parent:
        os.rename(place.parts[-1], name, src_dir_fd=parent, dst_dir_fd=parent)
    return WorkspacePath(place.root, (*place.parts[:-1], name))


def _status(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _version(status: os.stat_result) -> tuple[int, int, int]:
    # Some programs replace a file and others overwrite it: the inode shows the first, size and time the second.
    return status.st_ino, status.st_size, status.st_mtime_ns
