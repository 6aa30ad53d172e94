"""The process of this worker that starts a holder for each command."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from openclaw_workers.child_processes import spawn
from openclaw_workers.tools.shell.holder.spec import HOLDER_READY

_ROOT = str(Path(__file__).parents[3])
_MAIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from openclaw_workers.tools.shell.holder.server import main; main()"
)
# A fork takes milliseconds, seconds on a host that is overloaded.
_ANSWER_SECONDS = 15.0


class HolderServer:
    """Started with the first command, again if it was killed. It ends with this process and those forked from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start_holder(self) -> tuple[BinaryIO, BinaryIO]:
        """A new holder: its standard input and its standard output.

        Raises:
            OSError: no process can be started.
        """
        started = self._ask() or self._ask()
        if started is None:
            raise TimeoutError(f"the process that starts commands did not answer within {_ANSWER_SECONDS:g} seconds")
        return started

    def _ask(self) -> tuple[BinaryIO, BinaryIO] | None:
        """None: the server was killed, or does not answer because somebody stopped it. The next one is new."""
        stdin, to_holder = os.pipe()
        from_holder, stdout = os.pipe()
        streams = os.fdopen(to_holder, "wb"), os.fdopen(from_holder, "rb")
        try:
            asked = self._request(stdin, stdout)
        except OSError:
            _close(*streams)
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        answer = _first_line(streams[1])
        if answer == HOLDER_READY:
            return streams
        _close(*streams)
        if answer:
            raise OSError(answer.decode().strip())
        self._give_up(asked)
        return None

    def _request(self, *fds: int) -> socket.socket:
        with self._lock:
            if self._requests is not None:
                try:
                    socket.send_fds(self._requests, [b"+"], fds)
                except (BrokenPipeError, ConnectionResetError):  # it was killed
                    self._requests.close()
                else:
                    return self._requests
            self._requests = self._start()
            socket.send_fds(self._requests, [b"+"], fds)
            return self._requests

    def _give_up(self, asked: socket.socket) -> None:
        with self._lock:
            if self._requests is not asked:
                return  # another thread was faster
            self._requests.close()
            self._requests = None
            if self._process is not None:
                self._process.kill()
                # Otherwise it stays in the process table until the next process is started.
                self._process.wait(_ANSWER_SECONDS)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            # Without site-packages, Python starts faster. The holder needs only the standard library and this
            # package.
            argv = [sys.executable, "-I", "-S", "-c", _MAIN, _ROOT]
            self._process = spawn(argv, cwd="/", stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
        return ours


def _first_line(stream: BinaryIO) -> bytes:
    """Empty if there is none in time. It is short, so it comes at once or not at all."""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return stream.readline() if poll.poll(_ANSWER_SECONDS * 1000) else b""


def _close(*streams: BinaryIO) -> None:
    for each in streams:
        each.close()


HOLDER_SERVER = HolderServer()
