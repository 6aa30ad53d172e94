"""The `exec` tool: run one shell command in the workspace."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack

from pydantic import Field

from openclaw_workers.child_processes import ProcessExit, dies_with_this_worker, stream_output
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.paths import locate, os_errors_as_tool_errors
from openclaw_workers.tools.output_limit import HeadAndTail

# Of a flood of output show only the latest lines: people cannot read more, and showing all of them takes time.
_PROGRESS_LINES_PER_READ = 20
_PROGRESS_LINE_CHARS = 500


class ExecInput(ToolInput):
    command: str = Field(min_length=1)
    """Shell command to run."""
    timeout_seconds: float | None = Field(default=None, gt=0)
    """The command and all it started are ended after so many seconds; unset: 120, or what is configured."""
    workdir: str = "."
    """Directory to run it in, relative to the workspace."""


class Exec(Tool[ExecInput]):
    """Run a shell command in the workspace and return its output and exit code.

    There is no input to type into. Background processes are ended when the command ends.
    """

    name = "exec"
    effect = Effect.ONCE
    input_type = ExecInput

    def is_result_untrusted(self, args: ExecInput) -> bool:
        return True

    def run(self, args: ExecInput, ctx: ToolContext) -> str:
        """Run the command; kill its process group when the call ends or the worker dies.

        The working directory is inside the workspace and the environment contains no secrets. The command itself runs
        with the worker's permissions and can access whatever the worker can.
        """
        timeout_seconds = min(args.timeout_seconds or ctx.exec_seconds, ctx.timeout_seconds)
        output = HeadAndTail()
        progress = _LineByLine(ctx.progress)

        def take(chunk: bytes) -> None:
            output.add(chunk)
            progress.add(chunk)

        ended, code = _run(args, ctx, timeout_seconds, take)
        progress.finish()
        if ended is ProcessExit.CANCELLED:
            ctx.cancel.check()
        if ended is ProcessExit.TIMED_OUT:
            why = f"the command was ended after {timeout_seconds:g} s; what it did until then stands. Output so far:"
            raise ToolTimedOut(why, output=output.text() or "(none)")
        return _format_result(output.text(), code)


def _run(
    args: ExecInput, ctx: ToolContext, timeout_seconds: float, take: Callable[[bytes], None]
) -> tuple[ProcessExit, int]:
    if "\0" in args.command:
        raise ToolError("the command holds a NUL character, which no shell accepts")
    place = locate(ctx.workspace, args.workdir)
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    with ExitStack() as until_done:
        with os_errors_as_tool_errors("run a command in", place):
            os.makedirs(place.root, exist_ok=True)
            spawn = until_done.enter_context(dies_with_this_worker())
            process = spawn(
                [shell, "-c", args.command], cwd=place.path, stderr=subprocess.STDOUT, extra_env=ctx.environment
            )
        ended = stream_output(process, cancel=ctx.cancel, timeout_seconds=timeout_seconds, on_output=take)
    return ended, process.returncode


def _format_result(output: str, code: int) -> str:
    ending = f"[exit code {code}]" if code >= 0 else f"[ended by {signal.Signals(-code).name}]"
    if not output:
        return f"(no output)\n{ending}"
    return f"{output}{'' if output.endswith(chr(10)) else chr(10)}{ending}"


class _LineByLine:
    """Splits chunks into lines to show as progress."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._unfinished = b""

    def add(self, chunk: bytes) -> None:
        *lines, rest = (self._unfinished + chunk).split(b"\n")
        self._unfinished = rest[-_PROGRESS_LINE_CHARS:]
        for line in lines[-_PROGRESS_LINES_PER_READ:]:
            self._show(line[:_PROGRESS_LINE_CHARS].decode(errors="replace"))

    def finish(self) -> None:
        if self._unfinished:
            self._show(self._unfinished.decode(errors="replace"))
