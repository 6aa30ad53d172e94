"""One child process of `ocw up`: starting it, reading its output, ending it."""

from __future__ import annotations

import fcntl
import os
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.cli.local.child_spec import ChildSpec, Started
from openclaw_workers.cli.local.start_program import start_program

_LONGEST_LINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before restarting a child that died."""

    first_seconds: float = 0.5
    ceiling_seconds: float = 30.0
    healthy_seconds: float = 60.0
    """After a child was alive for this long, the delay is the first one again."""

    def delay_seconds(self, deaths_in_a_row: int) -> float:
        return float(min(self.ceiling_seconds, self.first_seconds * 2 ** min(deaths_in_a_row - 1, 16)))


class Child:
    """The current process of a spec, if there is one, and the state that outlasts it."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.tail: deque[str] = deque(maxlen=20)
        self.deaths_in_a_row = 0
        self.serves = False
        self.has_served = False
        """By this process or an earlier one."""
        self.launched_at = 0.0
        self.restart_at: float | None = None
        self._process: Started | None = None
        self._partial = b""

    @property
    def has_failed_to_start(self) -> bool:
        return not self.has_served and self.deaths_in_a_row >= self.spec.start_attempts

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def launch(self) -> None:
        """Start the process in its own session. On Linux it ends when this process does.

        Raises:
            OSError: it cannot be started, or an earlier process still holds the lock.
        """
        self.serves = False
        lock_fd = _lock(self.spec.lock_path) if self.spec.lock_path is not None else None
        try:
            start = self.spec.start or start_program
            self._process = start(self.spec, lock_fd)
        finally:
            if lock_fd is not None:
                os.close(lock_fd)
        os.set_blocking(self.output_fd, False)

    @property
    def output_fd(self) -> int:
        assert self._process is not None
        return self._process.output.fileno()

    def read_lines(self) -> list[str] | None:
        """Return the lines written since the last call, or None at the end of the output."""
        try:
            chunk = os.read(self.output_fd, 65536)
        except BlockingIOError:
            return []
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        # A program that never ends its line must not fill our memory.
        if not chunk or len(self._partial) > _LONGEST_LINE_BYTES:
            whole, self._partial = [*whole, self._partial], b""
        lines = [self.spec.clean(line.decode(errors="replace").rstrip()) for line in whole]
        lines = [line for line in lines if line]
        self.tail.extend(lines)
        return lines if chunk or lines else None

    def has_exited(self) -> bool:
        if self.pid is None:
            return False
        # WNOWAIT keeps the zombie, so that pid and group are not reused before `reap` has killed the group.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def reap(self) -> str:
        """Kill the rest of the group, reap the process and return how it ended."""
        assert self._process is not None
        self.kill()
        code = self._process.wait()
        self._process.output.close()
        self._process = None
        self._partial = b""
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def terminate(self) -> None:
        if self.pid is not None:
            # To the process alone: a worker ends its own pool, and hands its turns over first.
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the whole group: a pool worker must not outlive its parent."""
        if self.pid is not None:
            with suppress(PermissionError):  # macOS raises this for a group with only a zombie
                os.killpg(self.pid, signal.SIGKILL)


# The child inherits the descriptor, and with it the lock, so it holds the lock even after the supervisor was killed.
def _lock(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
