"""Work that cannot be interrupted inside a process, done in a process of its own.

Python's `re` holds the interpreter lock from start to end of a match. One catastrophic pattern in one thread would
keep every other thread of the worker from renewing its lease. In a child of its own it harms nobody and can be
ended. (`multiprocessing` is no help here: the daemonic children of a prefork pool may not have children.)
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.child_processes import ProcessExit, follow, spawn
from openclaw_workers.errors import ToolError, ToolTimedOut


def run_isolated(
    script: str,
    request: dict[str, Any],
    *,
    cancel: Cancel,
    timeout_seconds: float,
    pass_fds: tuple[int, ...] = (),
) -> dict[str, Any]:
    """Run a stand-alone Python file: `request` as JSON on its standard input, its answer as JSON on its output.

    The script finds `timeout_seconds` in its request and must see to it that it ends soon after, should this
    process be gone by then. Keep the request below the size of a pipe (64 KB).

    Raises:
        ToolTimedOut: it did not answer in time and was killed.
        ToolError: it died, or answered with an `error`.
        TurnEnded: the turn was stopped meanwhile.
    """
    # -I and -S leave out site-packages, the environment and the current directory: a quick, predictable start.
    argv = [sys.executable, "-I", "-S", script]
    try:
        process = spawn(argv, stdin=subprocess.PIPE, pass_fds=pass_fds)
    except OSError as error:
        raise ToolError(f"no helper process could be started: {error.strerror}; try again later") from error
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps({**request, "timeout_seconds": timeout_seconds}).encode())
    output = bytearray()
    ended = follow(process, cancel=cancel, timeout_seconds=timeout_seconds, on_output=output.extend)
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
