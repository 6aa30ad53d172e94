"""Starts the holders of one worker by forking: a new Python for each command takes far longer than most commands.

Each byte on our standard input, a socket, brings the standard input and output of a new holder. When the socket ends,
so has the worker.
"""

from __future__ import annotations

import os
import socket
from typing import NoReturn

from openclaw_workers.tools.shell.holder.main import hold
from openclaw_workers.tools.shell.holder.spec import HOLDER_READY


def main() -> None:
    requests = socket.socket(fileno=0)
    while True:
        request, fds, _, _ = socket.recv_fds(requests, 1, 2)
        if not request:
            return
        try:
            child = os.fork()
        except OSError as problem:
            _refuse(fds[1], problem)
        else:
            if child == 0:
                requests.detach()  # its descriptor is the holder's standard input from now on
                _become_holder(*fds)
            os.waitpid(child, 0)
        for fd in fds:
            os.close(fd)


def _become_holder(stdin: int, stdout: int) -> NoReturn:
    """Twice forked, the holder is nobody's child: whoever ends the worker with its children leaves it alone."""
    try:
        if os.fork() == 0:
            for fd, standard in ((stdin, 0), (stdout, 1)):
                os.dup2(fd, standard)
                os.close(fd)
            stdout = 1
            os.write(stdout, HOLDER_READY)
            hold()
    except OSError as problem:
        _refuse(stdout, problem)
    finally:
        os._exit(0)


def _refuse(stdout: int, problem: OSError) -> None:
    os.write(stdout, f"{problem.strerror or problem}\n".encode())
