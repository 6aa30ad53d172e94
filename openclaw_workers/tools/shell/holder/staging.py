"""As root: show a directory at another path, to this process alone, before it becomes a user who cannot reach it."""

from __future__ import annotations

import ctypes
import os

STAGE = "/tmp"  # noqa: S108 (hidden behind a new file system that nobody else sees)
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


def stage(directory: str, name: str) -> None:
    """Show `directory` as /tmp/<name>, in mounts of our own.

    Raises:
        OSError: this process may not mount.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(_CLONE_NEWNS))
    # systemd makes mounts shared: without this, ours would appear on the host.
    _check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    source = os.open(directory, os.O_PATH | os.O_DIRECTORY)  # it may lie below the stage
    _check(libc.mount(b"tmpfs", STAGE.encode(), b"tmpfs", 0, b"size=64k,mode=755"))
    target = os.path.join(STAGE, name)
    os.mkdir(target)
    _check(libc.mount(f"/proc/self/fd/{source}".encode(), target.encode(), None, _MS_BIND, None))
    os.close(source)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
