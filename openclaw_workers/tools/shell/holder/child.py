"""Starts the command itself, and gives it input."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import struct
import termios
from typing import NoReturn

from openclaw_workers.tools.shell.holder.spec import Restriction, Spec
from openclaw_workers.tools.shell.holder.staging import stage

_ROWS, _COLUMNS = 30, 120
_RESET = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Child:
    """The command: its pid, the descriptor of its output and that of its input."""

    def __init__(self, spec: Spec) -> None:
        """Start it.

        Raises:
            OSError: the system refuses to start it.
        """
        self.stdin: int | None = None
        if spec["pty"]:
            self.output, theirs = os.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
            self.stdin, stdin = self.output, theirs
        else:
            self.output, theirs = os.pipe()
            if spec["stdin"]:
                stdin, self.stdin = os.pipe()
            else:
                stdin = os.open(os.devnull, os.O_RDONLY)
        # A successful exec closes the write end, so an empty read means that the command was started.
        error_read, error_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(spec, stdin, theirs, error_write)
        # A set: with a terminal, `theirs` and `stdin` are the same descriptor.
        for fd in {theirs, stdin, error_write}:
            os.close(fd)
        with os.fdopen(error_read, "rb") as pipe:
            problem = pipe.read().decode()
        if problem:
            os.waitpid(self.pid, 0)
            raise OSError(problem)
        os.set_blocking(self.output, False)
        if self.stdin is not None:
            os.set_blocking(self.stdin, False)
        self.has_terminal = spec["pty"]


def _become(spec: Spec, stdin: int, stdout: int, error: int) -> NoReturn:
    try:
        os.setsid()
        if spec["pty"]:
            fcntl.ioctl(stdin, termios.TIOCSCTTY, 0)
        for source, target in ((stdin, 0), (stdout, 1), (stdout, 2)):
            os.dup2(source, target)
        # Python ignores SIGPIPE and SIGXFSZ, and exec keeps ignored signals. Programs expect a closed pipe to end them.
        signal.set_wakeup_fd(-1)
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        _restrict(spec["restrict"])
        os.chdir(spec["cwd"])
        os.execve(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606 (running it is the purpose)
    except OSError as problem:
        os.write(error, (problem.strerror or str(problem)).encode())
    except Exception as problem:  # noqa: BLE001 (this process must not return into the holder's code)
        os.write(error, repr(problem).encode())
    os._exit(127)


def _restrict(limits: Restriction) -> None:
    """Give up, in this order: files, the way to a directory, the cgroups so far, resources and the user."""
    for fd, path in limits.get("open_files", {}).items():
        os.dup2(os.open(path, os.O_RDONLY), int(fd), inheritable=True)
    if "staged" in limits:
        stage(limits["staged"], "workspace")
    for cgroup in limits.get("cgroups", []):
        with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    for name, value in limits.get("rlimits", {}).items():
        number = getattr(resource, name)
        # Only root may raise a hard limit; asking for more would keep the command from starting.
        _, hard = resource.getrlimit(number)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (allowed, allowed))
    os.nice(limits.get("niceness", 0))
    if "uid" in limits:
        # In this order: after setuid, a process may change neither its groups nor its group.
        os.setgroups([])
        os.setgid(limits["uid"])
        os.setuid(limits["uid"])
