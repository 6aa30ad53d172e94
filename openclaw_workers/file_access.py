"""Open and replace files without following symbolic links.

Others may change a directory between a check of a path and its use. So a path is walked from a descriptor, one part
after the other, and a link anywhere on the way is an error.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: otherwise opening a named pipe would wait for a writer.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_directory(root: str, parts: Sequence[str], *, create: bool = False) -> int:
    """Open a directory below `root`, which itself may be reached through links; `create` makes missing ones.

    Raises:
        OSError: a part does not exist, or is not a directory.
    """
    current = os.open(root, DIRECTORY)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=current)
            inner = os.open(part, DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = inner
    except BaseException:
        os.close(current)
        raise
    return current


def open_regular_file(path: str) -> IO[bytes]:
    """Open a file for reading; its absolute path must hold no link.

    Raises:
        OSError: it does not exist, is not a regular file, or a part of its path is a link.
    """
    *parents, name = path.strip("/").split("/")
    parent = open_directory("/", parents)
    try:
        fd = os.open(name, FILE, dir_fd=parent)
    finally:
        os.close(parent)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise OSError(f"{path} is not a regular file")


def replace_file(parent: int, name: str, data: bytes, mode: int | None = None) -> None:
    """Write a file into an open directory: a reader sees the old or the new one. `mode` keeps its permissions.

    It is written under another name, synced and renamed. Other names of a replaced file keep the old content.
    """
    beside = f".ocw-{secrets.token_hex(8)}.tmp"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=parent)
        raise
    os.fsync(parent)
