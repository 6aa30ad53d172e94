"""Run work that cannot be interrupted inside a thread in a separate process.

Python's `re` holds the interpreter lock for a whole match. One catastrophic pattern in one thread would keep all other
threads of the worker from renewing their leases. In its own process it blocks nobody and can be killed.
(`multiprocessing` does not work here: the daemonic children of a prefork pool may not have children.)
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.child_processes import ProcessExit, spawn, stream_output
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.files import isolated_main


def run_isolated(
    script: str,
    request: dict[str, Any],
    *,
    cancel: Cancel,
    timeout_seconds: float,
    pass_fds: tuple[int, ...] = (),
    with_packages: bool = False,
) -> dict[str, Any]:
    """Run a stand-alone Python file in the form that `isolated_main` describes; returns its answer.

    It ends by itself soon after `timeout_seconds`, in case this process has died. Keep the request smaller than a pipe
    buffer (64 KB). `with_packages`: it may import installed packages.

    Raises:
        ToolTimedOut: the script did not answer in time and was killed.
        ToolError: the script crashed or answered with an `error`.
        TurnEnded: the turn was stopped in the meantime.
    """
    # No environment and no current directory, and without need no installed packages: a fast and predictable start.
    argv = [sys.executable, *(("-E", "-P") if with_packages else ("-I", "-S")), isolated_main.__file__, script]
    try:
        process = spawn(argv, stdin=subprocess.PIPE, pass_fds=pass_fds)
    except OSError as error:
        raise ToolError(f"no helper process could be started: {error.strerror}; try again later") from error
    assert process.stdin is not None
    # If it died before reading, its exit code says so below.
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps({**request, "timeout_seconds": timeout_seconds}).encode())
    output = bytearray()
    ended = stream_output(process, cancel=cancel, timeout_seconds=timeout_seconds, on_output=output.extend)
    if ended is ProcessExit.CANCELLED:
        cancel.check()
    if ended is ProcessExit.TIMED_OUT:
        raise ToolTimedOut(f"no answer within {timeout_seconds:g} s")
    if process.returncode != 0:
        raise ToolError(f"the helper process ended with code {process.returncode}")
    answer: dict[str, Any] = json.loads(output)
    if "error" in answer:
        raise ToolError(answer["error"])
    return answer
