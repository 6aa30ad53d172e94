"""Start a command under a holder, and follow it while it belongs to this worker."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError
from openclaw_workers.sandbox.launch import Launch
from openclaw_workers.tools.shell.holder.spec import Exit, Restriction, Spec
from openclaw_workers.tools.shell.holder_server import HOLDER_SERVER
from openclaw_workers.tools.shell.output_files import OutputFiles

_TICK_SECONDS = 0.1
_READS_PER_PUMP = 8
# A command that is stopped gets 0.4 s; its holder then kills all it started for up to 5 s.
_STOP_SECONDS = 8.0


class Attached:
    """A command whose holder ends it when this worker dies."""

    def __init__(
        self,
        directory: Path,
        launch: Launch,
        *,
        pty: bool = False,
        stdin: bool = False,
        timeout_seconds: float | None = None,
        finished: Path | None = None,
    ) -> None:
        """Start it. `directory` is its own and exists; `finished` is created when it has ended after `detach`.

        Raises:
            OSError: no process can be started, or the system refuses this one.
        """
        self._directory = directory
        self._output = OutputFiles(directory)
        spec: Spec = {
            "dir": str(directory),
            "argv": list(launch.argv),
            "cwd": launch.cwd,
            "env": dict(launch.env),
            "pty": pty,
            "stdin": stdin,
            "timeout_seconds": timeout_seconds,
            "finished": str(finished) if finished else "",
            "restrict": _restriction(launch),
            "watch": {"dir": launch.watched_dir, "bytes": launch.watched_bytes} if launch.watched_dir else None,
        }
        self._requests, self._reports = HOLDER_SERVER.start_holder()
        self._tell(json.dumps(spec).encode() + b"\n")
        started = self._report()
        if "error" in started:
            self._close()
            raise OSError(started["error"])
        self.pid = int(started["pid"])

    def follow(
        self,
        seconds: float | None,
        *,
        cancel: Cancel,
        on_output: Callable[[bytes], None],
        on_skip: Callable[[int], None],
    ) -> Exit | None:
        """Pass on the output until the command has ended, at most so many seconds; None: it still runs.

        If the turn is stopped, the command is too, and what it says until then is passed on.
        """
        until = None if seconds is None else time.monotonic() + seconds
        give_up: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._reports, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if cancel.reason is not None and give_up is None:
                    self._tell(b"stop\n")
                    give_up = now + _STOP_SECONDS
                if give_up is None and until is not None and now >= until:
                    self._pump(on_output, on_skip, reads=_READS_PER_PUMP)
                    return None
                # Short waits, because output goes to files, which a selector cannot wait for, and a stop is only a
                # flag.
                ready = selector.select(_TICK_SECONDS if until is None else min(_TICK_SECONDS, max(0.0, until - now)))
                ended = self._ended(is_ready=bool(ready), is_overdue=give_up is not None and now > give_up)
                # After the end has been seen, read everything: nothing more will be written.
                self._pump(on_output, on_skip, reads=_READS_PER_PUMP if ended is None else None)
                if ended is not None:
                    self._close()
                    return ended

    def detach(self) -> Exit | None:
        """Let it go on without this worker; how it ended, if it did so meanwhile.

        Raises:
            ToolError: the process that held it is gone.
        """
        self._tell(b"detach\n")
        report = self._report()
        self._close()
        if "detached" in report:
            return None
        return _exit_of(report)

    @property
    def shown_bytes(self) -> int:
        """How much of the output was passed on."""
        return self._output.offset

    def _ended(self, *, is_ready: bool, is_overdue: bool) -> Exit | None:
        if is_overdue:
            raise ToolError("the command was told to stop and does not end; it may still run")
        if not is_ready:
            return None
        report = self._report()
        if "exit" not in report:
            self._close()
        return _exit_of(report)

    def _report(self) -> dict[str, Any]:
        line = self._reports.readline()
        if not line:
            return {"error": "it was killed"}
        report: dict[str, Any] = json.loads(line)
        return report

    def _pump(self, on_output: Callable[[bytes], None], on_skip: Callable[[int], None], *, reads: int | None) -> None:
        """Pass on what is there. `reads` bounds it while the command runs: it may write faster than this reads."""
        before = self._output.skipped_bytes
        for _ in range(reads) if reads is not None else count():
            if not (chunk := self._output.read()):
                return
            on_output(chunk)
            if skipped := self._output.skipped_bytes - before:
                on_skip(skipped)
                before = self._output.skipped_bytes

    # A broken pipe means that the holder is dead. The next report says so.
    def _tell(self, line: bytes) -> None:
        with suppress(BrokenPipeError):
            self._requests.write(line)
            self._requests.flush()

    def _close(self) -> None:
        with suppress(BrokenPipeError):
            self._requests.close()
        self._reports.close()


def _exit_of(report: dict[str, Any]) -> Exit:
    if "exit" not in report:
        why = report.get("error", "it was killed")
        raise ToolError(f"the process that held the command has ended: {why}; what the command did until then stands")
    ended: Exit = report["exit"]
    return ended


def _restriction(launch: Launch) -> Restriction:
    restriction: Restriction = {
        "open_files": {str(fd): path for fd, path in launch.open_files.items()},
        "cgroups": list(launch.cgroups),
        "rlimits": dict(launch.rlimits),
        "niceness": launch.niceness,
    }
    if launch.staged is not None:
        restriction["staged"] = launch.staged
    if launch.uid is not None:
        restriction["uid"] = launch.uid
    return restriction


def shell_argv(command: str) -> list[str]:
    """How a command line is run by a shell."""
    return ["/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh", "-c", command]


def run_briefly(launch: Launch, seconds: float = 20) -> tuple[int, str]:
    """Run a short command to its end; return its exit code and its output.

    Raises:
        OSError: the system refuses to start it.
    """
    directory, output = Path(tempfile.mkdtemp(prefix="ocw-exec-")), bytearray()
    try:
        attached = Attached(directory, launch, timeout_seconds=seconds)
        ended = attached.follow(None, cancel=Cancel(), on_output=output.extend, on_skip=lambda _: None)
    finally:
        remove(directory)
    assert ended is not None
    return ended["code"], output.decode(errors="replace")


def remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
