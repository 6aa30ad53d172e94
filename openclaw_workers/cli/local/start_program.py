"""Starting a child of `ocw up` as a program of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable

from openclaw_workers.cli.local.child_spec import ChildSpec, Started

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def start_program(spec: ChildSpec, lock_fd: int | None) -> Started:
    """Start it from its file. On Linux it ends when this process does.

    Raises:
        OSError: it cannot be started.
    """
    given = spec.new_stdin() if spec.new_stdin is not None else None
    try:
        process = subprocess.Popen(  # noqa: S603 - our own argv, no shell
            spec.argv,
            env=spec.env,
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if lock_fd is None else (lock_fd,),
            # prctl applies to the process that calls it, so it must run in the child.
            preexec_fn=_tie_to(os.getpid()),  # noqa: PLW1509 - the supervisor has no threads
        )
    finally:
        if given is not None:
            os.close(given)
    assert process.stdout is not None
    return Started(process.pid, process.stdout, process.wait)


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent: int) -> None:
    """Have the kernel send SIGTERM to this process when its parent dies, even by SIGKILL (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # gone before prctl
            os._exit(1)


def _tie_to(parent: int) -> Callable[[], None]:
    return lambda: end_with_parent(parent)
