"""Child processes that end when they should, together with everything they started.

A child runs in a session of its own, so that one signal reaches all of it. No thread is started: the caller's
thread reads the output and looks every tenth of a second whether the turn was stopped or the time is up.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import IO, Any

from openclaw_workers.cancel import Cancel

_TICK_SECONDS = 0.1
_READ_BYTES = 65_536

# Output still on its way when the command has ended, as from `> >(tee log)`.
_LINGER_SECONDS = 0.2
# From SIGTERM to SIGKILL: for a command that ran out of time, and for one whose turn was stopped.
_TIMEOUT_GRACE_SECONDS = 1.0
_CANCEL_GRACE_SECONDS = 0.4

_PASSED_ON = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLUMNS", "LINES", "NO_COLOR"),
    *("LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
}


class ProcessExit(StrEnum):
    BY_ITSELF = "by itself"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


def clean_environment() -> dict[str, str]:
    """The variables a command needs to find its way; keys, tokens and addresses of the worker stay behind.

    An allow-list, because nobody can list the names of all secrets. It keeps secrets out of logs and of
    accidents; it is no wall against a command that reads the worker's memory as the same user.
    """
    kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    kept.setdefault("PATH", os.defpath)
    return kept


def spawn(
    argv: list[str],
    *,
    cwd: str | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.DEVNULL,
    pass_fds: tuple[int, ...] = (),
    extra_env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with a clean environment and what is added to it.

    Raises:
        OSError: there is no such directory, or no room for another process.
    """
    return subprocess.Popen(  # noqa: S603 (running what a model or the configuration asks for is the purpose)
        argv,
        cwd=cwd,
        env={**clean_environment(), **(extra_env or {})},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
    )


def follow(
    process: subprocess.Popen[bytes],
    *,
    cancel: Cancel,
    timeout_seconds: float,
    on_output: Callable[[bytes], None],
) -> ProcessExit:
    """Hand on the output of a session leader until it ends or must end; then nothing of its group is left.

    A background child that keeps the pipe open does not hold the call up: it is ended with the group.
    What left the group on purpose (`setsid`) is out of reach and goes on.
    """
    assert process.stdout is not None
    deadline = time.monotonic() + timeout_seconds
    ended = ProcessExit.BY_ITSELF
    with _Pipe(process.stdout, on_output) as pipe:
        try:
            while not _has_exited(process):
                if cancel.reason is not None:
                    ended = ProcessExit.CANCELLED
                    break
                left = deadline - time.monotonic()
                if left <= 0:
                    ended = ProcessExit.TIMED_OUT
                    break
                pipe.pump(min(_TICK_SECONDS, left))
            _let_finish(process, pipe, ended)
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()
        pipe.drain()
    return ended


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a session leader that was not reaped yet, and all of its group."""
    with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        os.killpg(process.pid, number)


# Both scripts meet in one pipe, whose writing end is held by the worker and, for a moment, by the child itself.
_WATCH = 'read -r group || exit; read -r _; kill -s KILL -- "-$group"'
_ENLIST = 'echo "$$" >&0; input=$1; shift; exec "$@" <"$input"'

# What a shell says of a program that is not there or may not be run.
NOT_STARTED = (126, 127)


@contextmanager
def dies_with_this_worker() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Yield a `spawn` whose child ends, with its group, when this process does, also by SIGKILL.

    A shell in a session of its own holds the reading end of a pipe. When the worker is gone, however it went,
    the pipe closes and the shell kills the group. The child says its own number before it becomes the program,
    so that no kill falls between its start and its being watched; a program that cannot be run ends with one of
    `NOT_STARTED`. (A parent-death signal would need code between fork and exec, which is not safe among threads,
    and would reach only the first process of the group.)
    """
    watch = spawn(["/bin/sh", "-c", _WATCH], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert watch.stdin is not None
    line = watch.stdin.fileno()

    def spawn_watched(argv: list[str], *, stdin: int | None = None, **more: Any) -> subprocess.Popen[bytes]:
        source = "/dev/null" if stdin is None else f"/dev/fd/{stdin}"
        kept = () if stdin is None else (stdin,)
        return spawn(["/bin/sh", "-c", _ENLIST, "sh", source, *argv], stdin=line, pass_fds=kept, **more)

    try:
        yield spawn_watched
    finally:
        watch.kill()
        watch.wait()
        with suppress(BrokenPipeError):
            watch.stdin.close()


def _let_finish(process: subprocess.Popen[bytes], pipe: _Pipe, ended: ProcessExit) -> None:
    grace_seconds = _LINGER_SECONDS
    if ended is not ProcessExit.BY_ITSELF:
        signal_group(process, signal.SIGTERM)
        grace_seconds = _CANCEL_GRACE_SECONDS if ended is ProcessExit.CANCELLED else _TIMEOUT_GRACE_SECONDS
    until = time.monotonic() + grace_seconds
    while (left := until - time.monotonic()) > 0:
        if pipe.at_end and _has_exited(process):
            return
        pipe.pump(min(_TICK_SECONDS, left))


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    # Looks without reaping: as long as the leader is a zombie, its number cannot become another group's,
    # and the last SIGKILL cannot hit a stranger. Python on macOS learned `waitid` in 3.13.
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Pipe:
    """The reading end of a child's output."""

    def __init__(self, stream: IO[bytes], on_output: Callable[[bytes], None]) -> None:
        self._stream = stream
        self._on_output = on_output
        self._selector = selectors.DefaultSelector()
        self._nap_seconds = 0.0005
        self.at_end = False

    def __enter__(self) -> _Pipe:
        os.set_blocking(self._stream.fileno(), False)
        self._selector.register(self._stream, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        self._stream.close()

    def pump(self, seconds: float) -> None:
        """Wait for output at most so long and pass it on."""
        if not self.at_end:
            if self._selector.select(seconds):
                self._read()
            return
        # The output ends a moment before the process does: look soon, then ever less often.
        time.sleep(min(self._nap_seconds, seconds))
        self._nap_seconds = min(self._nap_seconds * 2, _TICK_SECONDS)

    def drain(self) -> None:
        """Take what is in the pipe now; it holds little, and something out of reach may fill it for ever."""
        for _ in range(4):
            if self.at_end or not self._selector.select(0):
                return
            self._read()

    def _read(self) -> None:
        try:
            chunk = os.read(self._stream.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        if chunk:
            self._on_output(chunk)
        else:
            self.at_end = True
            self._selector.unregister(self._stream)
