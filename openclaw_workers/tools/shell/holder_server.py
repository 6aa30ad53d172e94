"""The process of this worker that starts a holder for each command."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from openclaw_workers.child_processes import spawn

_ROOT = str(Path(__file__).parents[3])
_MAIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from openclaw_workers.tools.shell.holder.server import main; main()"
)


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
        stdin, to_holder = os.pipe()
        from_holder, stdout = os.pipe()
        try:
            self._request(stdin, stdout)
        except OSError:
            os.close(to_holder)
            os.close(from_holder)
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        return os.fdopen(to_holder, "wb"), os.fdopen(from_holder, "rb")

    def _request(self, *fds: int) -> None:
        with self._lock:
            if self._requests is not None:
                try:
                    socket.send_fds(self._requests, [b"+"], fds)
                except (BrokenPipeError, ConnectionResetError):  # it was killed
                    self._requests.close()
                else:
                    return
            self._requests = self._start()
            socket.send_fds(self._requests, [b"+"], fds)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            # Without site-packages, Python starts faster. The holder needs only the standard library and this
            # package.
            argv = [sys.executable, "-I", "-S", "-c", _MAIN, _ROOT]
            self._process = spawn(argv, cwd="/", stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
        return ours


HOLDER_SERVER = HolderServer()
