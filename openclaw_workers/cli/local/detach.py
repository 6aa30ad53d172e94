"""Starting `ocw up` in the background, and stopping it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from openclaw_workers.cli.output import StartFailed
from openclaw_workers.errors import BadInput, ConflictError, TransientError
from openclaw_workers.state_dir import read_runtime, running_pid

_TAIL_LINES = 12
_HARD_STOP_SECONDS = 10.0


def start_detached(state_dir: Path, arguments: Sequence[str]) -> None:
    """Start `ocw <arguments> --ready-fd N` in its own session and return once it is ready.

    Raises:
        StartFailed: it ended before; the message has the end of its log.
        ConflictError: it was stopped while it started.
    """
    log_path = state_dir / "logs" / "detached.log"
    read_end, write_end = os.pipe()
    with os.fdopen(os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own argv, no shell
            [sys.executable, "-P", "-m", "openclaw_workers.cli.main", *arguments, "--ready-fd", str(write_end)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end,),
            start_new_session=True,
        )
    os.close(write_end)
    try:
        with os.fdopen(read_end, "rb") as pipe:
            # The pipe ends without a byte if the process dies, so no timeout is needed.
            is_ready = pipe.read(1) != b""
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    if not is_ready:
        code = process.wait()
        if code == 0:
            raise ConflictError("`ocw up` was stopped while it started", hint="start it again")
        tail = log_path.read_text(errors="replace").strip().splitlines()[-_TAIL_LINES:]
        raise StartFailed("\n  ".join(["`ocw up` did not start:", *tail]), code, hint=f"see {log_path.parent}")


def say_ready(ready_fd: int) -> None:
    os.write(ready_fd, b"1")
    os.close(ready_fd)


def stop_running(state_dir: Path) -> int | None:
    """Stop the `ocw up` of this directory and wait until it has ended. None if none was running.

    Raises:
        TransientError: it still runs after a second, hard request.
        BadInput: it belongs to another user.
    """
    pid = running_pid(state_dir)
    if pid is None:
        return None
    runtime = read_runtime(state_dir)
    # The record may be that of an earlier process, with other settings.
    patience_seconds = runtime.stop_seconds if runtime is not None and runtime.pid == pid else 60.0
    # The second signal makes the supervisor kill its children at once.
    for wait_seconds in (patience_seconds, _HARD_STOP_SECONDS):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            return pid
        except PermissionError as error:
            raise BadInput(
                f"`ocw up` (pid {pid}) belongs to another user", hint="run this as the user who started it"
            ) from error
        if _wait_until(lambda: running_pid(state_dir) != pid, wait_seconds):
            return pid
    raise TransientError(f"`ocw up` (pid {pid}) did not stop", hint=f"end it with `kill -9 {pid}`")


def _wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
