"""One child process of `ocw up`: how it is started, read, and brought to an end."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LONGEST_LINE_BYTES = 64 * 1024
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run, and how to treat it."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    is_ready: Callable[[int], bool]
    """Given its pid, whether it serves; asked after each start until so; may block for a second, must not raise."""

    stop_rank: int = 0
    """Lower ranks are stopped, and gone, before higher ones are told to."""

    stop_seconds: float = 10.0
    """How long it may take to leave after SIGTERM before its whole process group is killed."""

    start_attempts: int = 3
    """How often it may die before it was ever ready until the start counts as failed."""

    is_shown: bool = True
    """Whether its output goes to the terminal; it goes to its log file in any case."""

    clean: Callable[[str], str] = field(default=str)
    """Takes the program's own time stamp off a line."""

    lock_path: Path | None = None
    """Locked for as long as the child or a fork of it lives, whatever becomes of the supervisor."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a child that died is started again."""

    first_seconds: float = 0.5
    ceiling_seconds: float = 30.0
    healthy_seconds: float = 60.0
    """A child that lived this long starts from the first delay again."""

    def delay_seconds(self, deaths_in_a_row: int) -> float:
        return float(min(self.ceiling_seconds, self.first_seconds * 2 ** min(deaths_in_a_row - 1, 16)))


class Child:
    """The current process of a spec, if any, and what is remembered from earlier ones."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.tail: deque[str] = deque(maxlen=20)
        self.deaths_in_a_row = 0
        self.serves = False
        self.has_served = False
        """In this life or in an earlier one."""
        self.launched_at = 0.0
        self.restart_at: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._partial = b""

    @property
    def has_failed_to_start(self) -> bool:
        return not self.has_served and self.deaths_in_a_row >= self.spec.start_attempts

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def launch(self) -> None:
        """Start the process in a session of its own, tied to the life of this one.

        Raises:
            OSError: it cannot be started, or an earlier one still holds the lock.
        """
        self.serves = False
        lock_fd = _lock(self.spec.lock_path) if self.spec.lock_path is not None else None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own argv, no shell
                self.spec.argv,
                env=self.spec.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=() if lock_fd is None else (lock_fd,),
                preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - the supervisor has no threads
            )
        finally:
            if lock_fd is not None:
                os.close(lock_fd)
        os.set_blocking(self.output_fd, False)

    @property
    def output_fd(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def read_lines(self) -> list[str] | None:
        """Return the lines written since the last call, or None at the end of the output."""
        try:
            chunk = os.read(self.output_fd, 65536)
        except BlockingIOError:
            return []
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        if not chunk or len(self._partial) > _LONGEST_LINE_BYTES:
            whole, self._partial = [*whole, self._partial], b""
        lines = [self.spec.clean(line.decode(errors="replace").rstrip()) for line in whole]
        lines = [line for line in lines if line]
        self.tail.extend(lines)
        return lines if chunk or lines else None

    def has_exited(self) -> bool:
        if self.pid is None:
            return False
        # WNOWAIT leaves a zombie behind, so pid and group stay ours until `bury` has ended the group.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def bury(self) -> str:
        """End what is left of the group, collect the process and say in words how it ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        self.kill()
        code = self._process.wait()
        self._process.stdout.close()
        self._process = None
        self._partial = b""
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def terminate(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the whole group: a pool worker must not outlive its parent."""
        if self.pid is not None:
            with suppress(PermissionError):  # what macOS says of a group that holds only a zombie
                os.killpg(self.pid, signal.SIGKILL)


def _lock(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _die_with(parent: int) -> Callable[[], None]:
    """Have the kernel send SIGTERM to the child when the supervisor is gone, even by SIGKILL (Linux only)."""

    def tie() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:  # gone between fork and prctl
                os._exit(1)

    return tie
