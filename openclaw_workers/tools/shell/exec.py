"""The `exec` tool: run one shell command, in the foreground or in the background."""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from openclaw_workers.clock import now_ms
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.redaction import mask_after_cut, mask_known
from openclaw_workers.sandbox.launch import Launch
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.paths import locate, os_errors_as_tool_errors
from openclaw_workers.tools.output_limit import HeadAndTail
from openclaw_workers.tools.shell.approval_port import Verdict
from openclaw_workers.tools.shell.background_commands import CommandInfo
from openclaw_workers.tools.shell.environment import check_variables, command_environment
from openclaw_workers.tools.shell.exit_text import ending_text
from openclaw_workers.tools.shell.holder.spec import Exit
from openclaw_workers.tools.shell.start import Attached, remove, shell_argv

# Of a flood of output show only the latest lines: people cannot read more, and showing all of them takes time.
_PROGRESS_LINES_PER_READ = 20
_PROGRESS_LINE_CHARS = 500
_MAX_YIELD_MS = 120_000
_TAIL_CHARS = 2_000
_END_SECONDS = 10
"""More than a holder needs to end a command."""


class ExecInput(ToolInput):
    command: str = Field(min_length=1)
    """Shell command to run."""
    timeout_seconds: Annotated[
        float | None, Field(gt=0, validation_alias=AliasChoices("timeout_seconds", "timeout", "timeoutSeconds"))
    ] = None
    """The command and all it started are ended after so many seconds. Unset: 120, or what is configured; none with
    background or yieldMs."""
    workdir: str = "."
    """Directory to run it in, relative to the workspace."""
    env: dict[str, str] = Field(default_factory=dict)
    """Further environment variables."""
    background: bool = False
    """Return at once and let it run; the process tool reaches it."""
    yield_ms: Annotated[
        int | None, Field(ge=10, le=_MAX_YIELD_MS, validation_alias=AliasChoices("yieldMs", "yield_ms"))
    ] = None
    """Milliseconds to wait for its end before it goes on in the background."""
    pty: bool = False
    """Give it a terminal, for programs that want one."""


class Exec(Tool[ExecInput]):
    """Run a shell command in the workspace and return its output and exit code.

    A command that takes long goes on in the background, and you are told when it ends; the process tool shows its
    output and gives it input. Processes that a command leaves behind are ended when the command ends.
    """

    name = "exec"
    effect = Effect.ONCE
    input_type = ExecInput

    def is_result_untrusted(self, args: ExecInput) -> bool:
        return True

    def run(self, args: ExecInput, ctx: ToolContext) -> str:
        """Run the command; it dies with the worker unless it went into the background.

        The environment contains no secrets. On the host the command itself runs with the worker's permissions and can
        access whatever the worker can.
        """
        _check(args, ctx)
        return _Call(args, ctx).run(_launch(args, ctx))


def _check(args: ExecInput, ctx: ToolContext) -> None:
    if "\0" in args.command:
        raise ToolError("the command holds a NUL character, which no shell accepts")
    if args.background and not (ctx.may_background and ctx.commands):
        raise ToolError("commands cannot run in the background here: this session does not have the process tool")


def _launch(args: ExecInput, ctx: ToolContext) -> Launch:
    place = locate(ctx.workspace, args.workdir)
    with os_errors_as_tool_errors("run a command in", place):
        os.makedirs(place.root, exist_ok=True)
        if not os.path.isdir(place.path):
            raise FileNotFoundError(2, os.strerror(2))
    if ctx.sandbox is not None:
        return ctx.sandbox.launch(shell_argv(args.command), workdir=place.parts, env=check_variables(args.env))
    if ctx.approvals is not None:
        # Variables can change what a command does, so they are asked for with it. No list names a command with any.
        shown = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in args.env.items()), args.command])
        decision = ctx.approvals.check(shown, cwd=place.path, place="host")
        if decision.verdict is not Verdict.ALLOWED:
            raise ToolError(decision.reason or f"this command may not run ({decision.verdict})")
    return Launch(shell_argv(args.command), place.path, command_environment(args.env, ctx.environment))


class _Call:
    """One call: follow the command until it ends or goes into the background."""

    def __init__(self, args: ExecInput, ctx: ToolContext) -> None:
        self._args = args
        self._ctx = ctx
        self._may_yield = ctx.may_background and ctx.commands is not None
        self._max_seconds: float | None = None
        self._output = HeadAndTail()
        self._progress = _LineByLine(ctx.progress)

    def run(self, launch: Launch) -> str:
        ctx = self._ctx
        self._max_seconds = launch.max_seconds
        commands = ctx.commands if self._may_yield else None
        directory = commands.new() if commands else Path(tempfile.mkdtemp(prefix="ocw-exec-"))
        is_kept = False
        try:
            attached = self._start(directory, launch)
            wait_seconds = self._yield_seconds() if self._may_yield else None
            ended = attached.follow(wait_seconds, cancel=ctx.cancel, on_output=self._take, on_skip=self._output.skip)
            if ended is None:
                assert commands is not None
                # Before `detach`: from then on the command outlives this worker, and others must be able to find it.
                commands.keep(directory, self._info(directory, attached, launch))
                ended = attached.detach()
                is_kept = ended is None
        finally:
            if not is_kept:
                remove(directory)
        self._progress.finish()
        return self._running(directory.name, attached.pid) if ended is None else self._ended(ended)

    def _start(self, directory: Path, launch: Launch) -> Attached:
        args, commands = self._args, self._ctx.commands if self._may_yield else None
        try:
            return Attached(
                directory,
                launch,
                pty=args.pty,
                stdin=args.background,
                timeout_seconds=self._timeout_seconds(),
                finished=commands.finished_file(directory) if commands else None,
            )
        except OSError as error:
            raise ToolError(f"the command could not be started: {error.strerror or error}") from error

    def _timeout_seconds(self) -> float | None:
        limits = [each for each in (self._own_timeout_seconds(), self._max_seconds) if each is not None]
        return min(limits, default=None)

    def _own_timeout_seconds(self) -> float | None:
        args, ctx = self._args, self._ctx
        if not self._may_yield:
            return min(args.timeout_seconds or ctx.exec_seconds, ctx.timeout_seconds)
        if args.timeout_seconds is not None:
            return args.timeout_seconds
        return None if args.background or args.yield_ms is not None else min(ctx.exec_seconds, ctx.timeout_seconds)

    def _yield_seconds(self) -> float:
        args, ctx = self._args, self._ctx
        if args.background:
            return 0
        wanted = ctx.yield_seconds if args.yield_ms is None else args.yield_ms / 1000
        limit = self._timeout_seconds()
        if limit is not None and limit <= min(wanted, ctx.timeout_seconds):
            # The time limit comes first: wait until the holder has ended the command, so that this call reports the
            # timeout.
            return limit + _END_SECONDS
        # Leaves time to detach before the call itself runs out of time.
        return min(wanted, ctx.timeout_seconds * 0.9)

    def _info(self, directory: Path, attached: Attached, launch: Launch) -> CommandInfo:
        ctx = self._ctx
        return CommandInfo(
            id=directory.name,
            command=self._args.command,
            cwd=launch.cwd,
            agent_id=ctx.agent_id,
            session_key=ctx.session_key,
            authority=ctx.commands.authority if ctx.commands else "",
            pid=attached.pid,
            host=socket.gethostname(),
            pty=self._args.pty,
            sandboxed=launch.is_sandboxed,
            started_at=now_ms(),
            shown_bytes=attached.shown_bytes,
            keep_ms=ctx.commands.keep_ms if ctx.commands else 0,
        )

    def _take(self, chunk: bytes) -> None:
        self._output.add(chunk)
        self._progress.add(chunk)

    def _running(self, command_id: str, pid: int) -> str:
        tail = self._output.text()[-_TAIL_CHARS:]
        so_far = f"{tail.rstrip()}\n" if tail.strip() else ""
        hint = "You are told when it ends; use process to look at it, give it input or end it before."
        return f"{so_far}[still running in the background: sessionId {command_id}, pid {pid}. {hint}]"

    def _ended(self, ended: Exit) -> str:
        output = self._output.text()
        if ended["reason"] == "stopped":
            # Raises the reason for which the turn was stopped.
            self._ctx.cancel.check()
        if ended["reason"] == "timed out":
            limit = self._timeout_seconds()
            why = f"the command was ended after {limit:g} s; what it did until then stands. Output so far:"
            raise ToolTimedOut(why, output=output or "(none)")
        if ended["reason"] != "exited":
            raise ToolError(f"the command was {ending_text(ended)}. Output so far:", output=output or "(none)")
        return _format_result(output, ending_text(ended))


def _format_result(output: str, ending: str) -> str:
    if not output:
        return f"(no output)\n[{ending}]"
    return f"{output}{'' if output.endswith(chr(10)) else chr(10)}[{ending}]"


class _LineByLine:
    """Splits chunks into lines to show as progress."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._unfinished = b""
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        *lines, rest = (self._unfinished + chunk).split(b"\n")
        is_cut = self._is_cut and len(lines) <= _PROGRESS_LINES_PER_READ
        for line in lines[-_PROGRESS_LINES_PER_READ:]:
            self._show(_masked(line, is_cut)[:_PROGRESS_LINE_CHARS])
            is_cut = False
        # A program may never end its line; keep only what could be shown.
        self._unfinished = rest[-_PROGRESS_LINE_CHARS:]
        self._is_cut = len(rest) > _PROGRESS_LINE_CHARS or (self._is_cut and not lines)

    def finish(self) -> None:
        if self._unfinished:
            self._show(_masked(self._unfinished, self._is_cut))


def _masked(line: bytes, is_cut: bool) -> str:
    """Without secrets, also if the beginning of the line was not kept."""
    text = line.decode(errors="replace")
    return mask_after_cut(text) if is_cut else mask_known(text)
