"""As root each sandbox has a user of its own, so that the kernel tells its processes and files from all others."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from openclaw_workers.file_access import DIRECTORY

UID_COUNT = 10_000


def uid_for(key: str, taken: Path, first: int) -> int:
    """The user of a sandbox: the same each time. `taken` is a directory with one file for each user given away.

    Raises:
        OSError: no user is left, or the directory cannot be written.
    """
    taken.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The hash spreads the users, so that state directories of one host seldom meet at the same one.
    start = int(sha256(f"{taken} {key}".encode()).hexdigest(), 16)
    for step in range(UID_COUNT):
        uid = first + (start + step) % UID_COUNT
        path = taken / str(uid)
        # Creating the file is the claim: of two workers, one gets it.
        with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
            file.write(key)
            return uid
        if path.read_text(encoding="utf-8") == key:
            return uid
    raise OSError(f"all {UID_COUNT} users of sandboxes from {first} on are taken; prune sandboxes")


def release_uid(key: str, taken: Path) -> None:
    with suppress(FileNotFoundError):
        for path in taken.iterdir():
            if path.read_text(encoding="utf-8") == key:
                path.unlink(missing_ok=True)


def give_to(directory: Path, uid: int | None) -> int:
    """Give a directory and all in it to a user, unless that is None; return how many bytes it holds.

    Links are not followed. A file with further names is left as it is: another name may be outside.
    """
    fd = os.open(directory, DIRECTORY)
    try:
        return _give(fd, uid)
    finally:
        os.close(fd)


def _give(directory: int, uid: int | None) -> int:
    used = 0
    if uid is not None and os.fstat(directory).st_uid != uid:
        os.fchown(directory, uid, uid)
    with os.scandir(directory) as found:
        names = [entry.name for entry in found]
    for name in names:
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            used += status.st_blocks * 512
            if stat.S_ISDIR(status.st_mode):
                with suppress(NotADirectoryError, OSError):
                    inner = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                    try:
                        used += _give(inner, uid)
                    finally:
                        os.close(inner)
            # A hard link to a file outside would otherwise hand that file to the sandbox.
            elif uid is not None and status.st_uid != uid and status.st_nlink == 1:
                os.chown(name, uid, uid, dir_fd=directory, follow_symlinks=False)
    return used


def count_processes(uid: int) -> int:
    """Processes and threads of a user now. The kernel counts them all against a limit of processes."""
    count = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
    return count
