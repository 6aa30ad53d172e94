"""Orders to the process that forks workers, the ingress and Flower (`forking`)."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from openclaw_workers.cli.local.child_spec import ChildSpec, Started
from openclaw_workers.cli.local.forking import GO, HEAD_BYTES, READY, Order
from openclaw_workers.cli.local.start_program import start_program

NAME = "fork-server"
ORDER_SECONDS = 10.0
"""How long a fork may take; it takes milliseconds, and longer only if modules have to be imported first."""

AS_MODULE = (sys.executable, "-P", "-m")
"""`-P` keeps Python from importing modules of the current directory, which belongs to some other project."""


class ForkServer:
    """The line to the process. If it does not serve, children are started as programs of their own."""

    def __init__(self, modules: Sequence[str], apis: Sequence[str]) -> None:
        self._plan = json.dumps({"modules": [*modules], "apis": [*apis]})
        self._line: socket.socket | None = None
        self._is_ready = False

    def spec(self, env: Mapping[str, str]) -> ChildSpec:
        return ChildSpec(
            name=NAME,
            argv=(*AS_MODULE, "openclaw_workers.cli.local.forking", self._plan),
            env=env,
            is_ready=lambda _pid: self.is_ready(),
            new_stdin=self._new_line,
            stop_seconds=5.0,
        )

    def is_ready(self) -> bool:
        """Whether it has imported everything."""
        if not self._is_ready and self._line is not None:
            try:
                self._is_ready = self._line.recv(1, socket.MSG_DONTWAIT) == READY
            except OSError:
                return False
        return self._is_ready

    def start(self, spec: ChildSpec, lock_fd: int | None) -> Started:
        """Fork the child; start it as a program of its own if that is not possible."""
        # Only Python programs can be forked, and an order carries no lock.
        if spec.argv[:3] != AS_MODULE or lock_fd is not None or not self.is_ready():
            return start_program(spec, lock_fd)
        try:
            return self._fork(spec)
        # With its line closed, the fork server ends and is started again. A fork that comes too late ends by itself.
        except (OSError, EOFError):
            self._close()
            return start_program(spec, lock_fd)

    def _fork(self, spec: ChildSpec) -> Started:
        assert self._line is not None
        package, *arguments = spec.argv[3:]
        order = Order(f"ocw {spec.name}", package, arguments, dict(spec.env), [*spec.modules])
        text = json.dumps(asdict(order)).encode()
        read_end, write_end = os.pipe()
        ours, theirs = socket.socketpair()
        try:
            with ours, theirs:
                # A fork server that hangs must not stop the supervisor.
                ours.settimeout(ORDER_SECONDS)
                socket.send_fds(self._line, [len(text).to_bytes(HEAD_BYTES)], [write_end, theirs.fileno()])
                self._line.sendall(text)
                # Otherwise our own copy would keep the socket open, and a dead fork server would look like a slow one.
                theirs.close()
                pid = ours.recv(HEAD_BYTES, socket.MSG_WAITALL)
                if len(pid) != HEAD_BYTES:
                    raise EOFError("it ended before it had forked")
                ours.sendall(GO)
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        number = int.from_bytes(pid)
        return Started(number, os.fdopen(read_end, "rb", buffering=0), lambda: _wait(number))

    def _new_line(self) -> int:
        """Our stdin of the process that is about to start; the line to an earlier one is closed."""
        self._close()
        self._line, theirs = socket.socketpair()
        self._line.settimeout(ORDER_SECONDS)
        return theirs.detach()

    def _close(self) -> None:
        self._is_ready = False
        if self._line is not None:
            self._line.close()
            self._line = None


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
