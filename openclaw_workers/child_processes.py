"""Run child processes and end them in time, together with everything they started.

A child runs in its own process session, so that one signal reaches the whole group. No extra thread is started: the
caller's thread reads the output and checks every tenth of a second whether the turn was stopped or the time is up.
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

# How long to wait for late output after the command has exited, for example from `> >(tee log)`.
_LINGER_SECONDS = 0.2
# Time between SIGTERM and SIGKILL, for a command that timed out and for one whose turn was stopped.
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
    """The environment for a command: PATH, HOME, locale and the like, without the worker's keys and addresses.

    It is an allow-list, because nobody can list the names of all secrets. It protects against leaks by accident. It
    does not protect against a command that reads the worker's memory as the same user.
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
    """Start a program in its own process session, with a clean environment plus `extra_env`.

    Raises:
        OSError: the directory does not exist, or the system cannot start another process.
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


def stream_output(
    process: subprocess.Popen[bytes],
    *,
    cancel: Cancel,
    timeout_seconds: float,
    on_output: Callable[[bytes], None],
) -> ProcessExit:
    """Pass on the output of a session leader until it exits, times out or is cancelled; then kill its group.

    A background child that keeps the pipe open does not delay the call: it is killed with the group.
    A process that left the group on purpose (`setsid`) cannot be reached and keeps running.
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
            _wait_for_end(process, pipe, ended)
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()
        pipe.drain()
    return ended


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the whole group of a session leader that has not been reaped yet."""
    with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        os.killpg(process.pid, number)


# Both scripts use one pipe. The worker holds its writing end, and for a moment the child does too.
_WATCH = 'read -r group || exit; read -r _; kill -s KILL -- "-$group"'
_ENLIST = 'echo "$$" >&0; input=$1; shift; exec "$@" <"$input"'

# A shell's exit codes for a program that does not exist or may not be executed.
NOT_STARTED = (126, 127)


@contextmanager
def dies_with_this_worker() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Yield a `spawn` whose child dies with this process, together with its group, even after SIGKILL.

    A watcher shell in its own session holds the reading end of a pipe. When the worker dies for whatever reason, the
    pipe closes and the shell kills the group. The child writes its pid into the pipe before it becomes the program, so
    there is no moment in which it runs unwatched. A program that cannot be executed exits with one of `NOT_STARTED`.

    Why not a parent-death signal? It needs code between fork and exec, which is not safe with threads, and it reaches
    only the first process of the group.
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


def _wait_for_end(process: subprocess.Popen[bytes], pipe: _Pipe, ended: ProcessExit) -> None:
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
    # Does not reap: while the leader is a zombie, its pid cannot be reused for another group, so the last SIGKILL
    # cannot hit a stranger. Python on macOS has `waitid` only since 3.13.
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
        """Wait at most `seconds` for output and pass it on."""
        if not self.at_end:
            if self._selector.select(seconds):
                self._read()
            return
        # The output ends a moment before the process does: check again soon, then less and less often.
        time.sleep(min(self._nap_seconds, seconds))
        self._nap_seconds = min(self._nap_seconds * 2, _TICK_SECONDS)

    def drain(self) -> None:
        """Read what is in the pipe now. Bounded, because a process that left the group may write to it for ever."""
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
