"""The process that holds a command: one loop over its output, its input, its worker and its socket."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from openclaw_workers.tools.shell.holder.child import Child
from openclaw_workers.tools.shell.holder.disk_usage import DiskWatch
from openclaw_workers.tools.shell.holder.output_log import OutputLog
from openclaw_workers.tools.shell.holder.process_tree import become_reaper, signal_tree
from openclaw_workers.tools.shell.holder.spec import EXIT_FILE, LOCK, SOCKET, Exit, Spec

_READ_BYTES = 65_536
_MAX_REQUEST_BYTES = 4 << 20
# How long to wait for late output after the command has exited, for example from `> >(tee log)`.
_LINGER_SECONDS = 0.2
# Time between SIGTERM and SIGKILL.
_GRACE_SECONDS = {"stopped": 0.4, "timed out": 1.0, "killed": 1.0, "disk limit": 0.0, "worker died": 0.0}


class Holder:
    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._dir = spec["dir"]
        self._selector = selectors.DefaultSelector()
        self._log = OutputLog(self._dir)
        self._disk = DiskWatch(spec["watch"])
        self._is_attached = True
        self._input = bytearray()
        self._input_ends = False
        self._code: int | None = None
        self._reason = "exited"
        self._kill_at: float | None = None
        timeout = spec["timeout_seconds"]
        self._deadline = time.monotonic() + timeout if timeout else None

    def run(self) -> None:
        lock = os.open(os.path.join(self._dir, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)  # until this process ends, however it ends
        become_reaper()
        wake = self._catch_signals()
        self._server = _listen(self._dir)
        try:
            self._child = Child(self._spec)
        except OSError as problem:
            self.report({"error": str(problem)})
            self._remove_cgroups()
            return
        self._output: int | None = self._child.output
        # Only now: `_end` needs the child.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._end("killed"))
        self.report({"pid": self._child.pid})
        self._on_readable(self._child.output, self._read)
        self._on_readable(wake, lambda: _drain(wake))
        self._on_readable(self._server.fileno(), self._serve)
        self._on_readable(0, self._control)
        self._wait()
        self._finish()

    def _catch_signals(self) -> int:
        """A signal makes the descriptor readable that is returned."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        # Python resumes `select` after a signal, so without this descriptor the loop would sleep through the child's
        # end. The handler may do nothing, but there must be one: a signal without a handler writes nothing to the
        # descriptor.
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        return read

    def _on_readable(self, fd: int, act: Callable[[], None]) -> None:
        self._selector.register(fd, selectors.EVENT_READ, act)

    def _wait(self) -> None:
        """Until the command has exited and said all."""
        linger_until: float | None = None
        while True:
            self._reap()
            now = time.monotonic()
            if self._code is not None:
                linger_until = linger_until or now + _LINGER_SECONDS
                if self._output is None or now >= linger_until:
                    return
            self._enforce(now)
            soonest = (linger_until, self._deadline, self._kill_at, self._disk.next_look)
            waits = [at - now for at in soonest if at is not None]
            for key, _ in self._selector.select(max(0.0, min(waits)) if waits else None):
                key.data()

    def _enforce(self, now: float) -> None:
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self._end("timed out")
        if self._disk.is_over(now):
            self._end("disk limit")
        if self._kill_at is not None and now >= self._kill_at:
            signal_tree(self._child.pid, signal.SIGKILL)
            # Again and again: a process may have forked between the list and the signal.
            self._kill_at = now + 0.1

    def _reap(self) -> bool:
        """Collect those that have ended; return whether any process is left below us."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._child.pid:
                    self._code = os.waitstatus_to_exitcode(status)
        return False

    def _end(self, reason: str) -> None:
        """End the command and all it started, politely first."""
        # The first reason stays: it is the one that ended the command.
        if self._code is not None or self._kill_at is not None:
            return
        self._reason = reason
        grace = _GRACE_SECONDS[reason]
        signal_tree(self._child.pid, signal.SIGTERM if grace else signal.SIGKILL)
        self._kill_at = time.monotonic() + grace

    def _read(self) -> None:
        assert self._output is not None
        try:
            chunk = os.read(self._output, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # Linux: nobody has the other side of the terminal open
            chunk = b""
        if chunk:
            self._log.write(chunk)
            return
        self._selector.unregister(self._output)
        if self._child.has_terminal:
            # It stays open: closing a terminal sends SIGHUP, also to a command that is just ending by itself.
            self._child.stdin = None
        else:
            os.close(self._output)
        self._output = None

    # --- Requests of the worker and of others ------------------------------------------------------------------------

    def _control(self) -> None:
        line = os.read(0, 4096)
        if b"detach\n" in line:
            self._is_attached = False
            self._selector.unregister(0)
            self.report({"detached": True})
            # Descriptors 0 and 1 stay taken, so that no file opened later gets a standard number.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
        elif b"stop\n" in line:
            self._end("stopped")
        elif not line:
            self._selector.unregister(0)
            self._end("worker died")

    def _serve(self) -> None:
        with suppress(OSError, ValueError, KeyError):
            connection, _ = self._server.accept()
            with connection:
                # A client that stalls would otherwise stop this loop, and with it the time limit.
                connection.settimeout(2)
                request = json.loads(_read_line(connection))
                connection.sendall(json.dumps(self._answer(request)).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["op"] == "kill":
            self._end("killed")
        elif self._child.stdin is None or self._input_ends:
            return {"error": "it reads no input"}
        else:
            self._input += base64.b64decode(request["data"])
            if request["eof"]:
                # The input of a terminal ends with Ctrl-D; its descriptor also carries the output and stays open.
                self._input += b"\x04" if self._child.has_terminal else b""
                self._input_ends = not self._child.has_terminal
            self._write_input()
        return {"ok": True, "pending": len(self._input)}

    def _write_input(self) -> None:
        stdin = self._child.stdin
        if stdin is None:
            return
        try:
            while self._input:
                del self._input[: os.write(stdin, self._input[:_READ_BYTES])]
        except BlockingIOError:
            self._continue_input(stdin)
            return
        except OSError:
            self._input.clear()
        if self._input_ends:
            os.close(stdin)
            self._child.stdin = None

    def _continue_input(self, stdin: int) -> None:
        """Write the rest when the command reads. The terminal has one descriptor for both directions."""
        with suppress(KeyError):
            self._selector.unregister(stdin)
        events = selectors.EVENT_READ | selectors.EVENT_WRITE if self._child.has_terminal else selectors.EVENT_WRITE
        self._selector.register(stdin, events, self._input_or_output)

    def _input_or_output(self) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        self._selector.unregister(stdin)
        if self._child.has_terminal:
            self._on_readable(stdin, self._read)
            self._read()
        self._write_input()

    def report(self, message: dict[str, Any]) -> None:
        with suppress(OSError):
            os.write(1, json.dumps(message).encode() + b"\n")

    # --- The end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._end_everybody()
        self._remove_cgroups()
        for _ in range(4):
            if self._output is not None:
                self._read()
        assert self._code is not None
        ended: Exit = {
            "code": self._code,
            "reason": self._reason,
            "bytes": self._log.total,
            "ended_at": int(time.time() * 1000),
        }
        if not self._is_attached:
            # The exit first: whoever finds the mark reads it. A command that was killed on request needs no notice.
            _write(os.path.join(self._dir, EXIT_FILE), json.dumps(ended))
            if self._spec["finished"] and self._reason != "killed":
                with suppress(OSError):
                    _write(self._spec["finished"], "")
        # Nobody else knows this command, so nobody else would clean up.
        elif self._reason == "worker died":
            _remove(self._dir)
        else:
            self.report({"exit": ended})
        with suppress(OSError):
            os.unlink(os.path.join(self._dir, SOCKET))

    def _remove_cgroups(self) -> None:
        for directory in self._spec["restrict"].get("cgroups", []):
            with suppress(OSError):
                os.rmdir(directory)

    def _end_everybody(self) -> None:
        """Whoever is left below us was started by the command, which is over."""
        until = time.monotonic() + 5
        while self._reap() and signal_tree(self._child.pid, signal.SIGKILL) and time.monotonic() < until:
            time.sleep(0.005)


def _listen(directory: str) -> socket.socket:
    """A path of a socket has at most about 100 bytes, so it is named from inside its directory."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(directory)
    server.bind(SOCKET)
    os.chdir("/")
    server.listen(8)
    return server


def _read_line(connection: socket.socket) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n") and len(data) < _MAX_REQUEST_BYTES:
        chunk = connection.recv(_READ_BYTES)
        if not chunk:
            break
        data += chunk
    return bytes(data)


def _drain(fd: int) -> None:
    with suppress(BlockingIOError):
        os.read(fd, 4096)


def _remove(directory: str) -> None:
    """It holds files only."""
    with suppress(OSError):
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)


def _write(path: str, text: str) -> None:
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.tmp", path)


def hold() -> None:
    """Hold the command that a line on our standard input describes."""
    data = bytearray()
    while not data.endswith(b"\n"):
        chunk = os.read(0, 1 << 20)
        if not chunk:
            return
        data += chunk
    # A Ctrl-C in the worker's terminal goes to its whole group, and a detached command must survive it.
    os.setsid()
    holder = Holder(json.loads(data))
    try:
        holder.run()
    except OSError as problem:  # for example, its disk is full
        holder.report({"error": problem.strerror or str(problem)})
