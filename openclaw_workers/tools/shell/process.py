"""The `process` tool: look at commands in the background, give them input and end them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from openclaw_workers.clock import now_ms
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.output_limit import HeadAndTail, shorten_line
from openclaw_workers.tools.shell.background_commands import CommandDirectory, HeldCommand
from openclaw_workers.tools.shell.exit_text import ending_text
from openclaw_workers.tools.shell.keys import key_bytes

_POLL_SECONDS = 0.1
_MAX_WAIT_MS = 120_000
# A holder sends SIGKILL after one second and then kills what is left for up to five.
_KILL_SECONDS = 6.0
_LOG_LINES = 200
_LISTED_CHARS = 120

Action = Literal["list", "poll", "log", "write", "send-keys", "submit", "kill", "clear"]


class ProcessInput(ToolInput):
    action: Action
    """list: all of this session; poll: new output and state; log: lines of the whole output; write: send text;
    send-keys: press keys; submit: press Enter; kill: end it and all it started; clear: forget one that has ended."""
    session_id: Annotated[str | None, Field(validation_alias=AliasChoices("sessionId", "session_id"))] = None
    """The command, as exec named it; needed by all actions but list."""
    timeout: int = Field(default=0, ge=0, le=_MAX_WAIT_MS)
    """With poll: milliseconds to wait for new output or the end."""
    offset: int | None = Field(default=None, ge=0)
    """With log: lines to skip from the beginning; unset: the last lines."""
    limit: int = Field(default=_LOG_LINES, ge=1, le=10_000)
    """With log: lines to return at most."""
    data: str = ""
    """With write: the text."""
    eof: bool = False
    """With write: end its input after the text."""
    keys: list[str] = Field(default_factory=list)
    """With send-keys: names such as Enter, Tab, Up, C-c."""
    hex: list[str] = Field(default_factory=list)
    """With send-keys: bytes in hexadecimal."""
    literal: str = ""
    """With send-keys: text to type before the keys."""


class Process(Tool[ProcessInput]):
    """Manage commands that exec left in the background: list, poll, log, write, send-keys, submit, kill, clear.

    You are told when one ends; poll only if you need its output before.
    """

    name = "process"
    effect = Effect.ONCE
    input_type = ProcessInput

    def is_result_untrusted(self, args: ProcessInput) -> bool:
        return args.action in ("list", "poll", "log")

    def run(self, args: ProcessInput, ctx: ToolContext) -> str:
        if ctx.commands is None:
            raise ToolError("there are no background commands here")
        if args.action == "list":
            return _list(ctx.commands, ctx)
        if not args.session_id:
            raise ToolError(f"{args.action} needs sessionId, the id that exec gave the command; list shows them")
        command = ctx.commands.get(args.session_id, ctx.session_key)
        if command is None:
            raise ToolError(f"there is no background command {args.session_id!r} of this session; list shows them")
        return _ACTIONS[args.action](args, command, ctx)


def _list(commands: CommandDirectory, ctx: ToolContext) -> str:
    now = now_ms()
    lines = []
    for each in commands.all(ctx.session_key):
        seconds = (now - each.info.started_at) / 1000
        shown = shorten_line(" ".join(each.info.command.split()), _LISTED_CHARS)
        lines.append(f"{each.info.id}  {_state(each)}  started {seconds:.0f} s ago  {shown}")
    return "\n".join(lines) or "No background commands."


def _state(command: HeldCommand) -> str:
    ended = command.exit()
    return ending_text(ended) if ended else command.state()


def _poll(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    wait_seconds = min(args.timeout / 1000, ctx.timeout_seconds)
    until = time.monotonic() + wait_seconds
    unread, output = command.unread(), HeadAndTail()
    while True:
        # The state first: what a command writes between the two looks and then exits would otherwise be missed.
        is_running = command.state() == "running"
        got = False
        while chunk := unread.read():
            output.add(chunk)
            got = True
        if not is_running or got or time.monotonic() >= until:
            break
        ctx.cancel.check()
        time.sleep(_POLL_SECONDS)
    output.skip(unread.skipped_bytes)
    command.mark_read(unread.offset)
    if not is_running and ctx.commands is not None:
        # The model learns of the end here; a notice would tell it twice.
        ctx.commands.mark_reported(command.info.id)
    return f"{output.text() or '(no new output)'}\n[{_state(command)}]"


def _log(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    # The holder keeps at most 16 MB, so the whole output fits in memory.
    files, data = command.output(), bytearray()
    while chunk := files.read():
        data += chunk
    lines = data.decode(errors="replace").splitlines()
    first = max(0, len(lines) - args.limit) if args.offset is None else args.offset
    shown = lines[first : first + args.limit]
    gone = f"; the first {files.skipped_bytes:,} bytes are gone" if files.skipped_bytes else ""
    note = f"[lines {first + 1}-{first + len(shown)} of {len(lines)}{gone}; {_state(command)}]"
    return "\n".join([*shown, note])


def _write(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    if not args.data and not args.eof:
        raise ToolError("write needs data, or eof to end its input")
    return _send(command, args.data.encode(), eof=args.eof)


def _send_keys(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    try:
        raw = b"".join(bytes.fromhex(each.removeprefix("0x")) for each in args.hex)
    except ValueError:
        raise ToolError(f"hex is {args.hex}; expected bytes such as 1b or 0d") from None
    data = args.literal.encode() + b"".join(map(key_bytes, args.keys)) + raw
    if not data:
        raise ToolError("send-keys needs keys, hex or literal")
    return _send(command, data)


def _submit(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    # A terminal turns the carriage return of the Enter key into a line feed; a pipe does not.
    return _send(command, args.data.encode() + (b"\r" if command.info.pty else b"\n"))


def _send(command: HeldCommand, data: bytes, *, eof: bool = False) -> str:
    pending = command.write(data, eof=eof)
    rest = f"; it has not read {pending:,} bytes yet" if pending else ""
    return f"Sent {len(data):,} bytes to {command.info.id}{' and ended its input' if eof else ''}{rest}."


def _kill(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    command.kill()
    until = time.monotonic() + _KILL_SECONDS
    while command.state() == "running":
        if time.monotonic() > until:
            raise ToolError(f"command {command.info.id} was told to end and still runs; poll it")
        time.sleep(0.02)
    return f"Ended {command.info.id} and all it started."


def _clear(args: ProcessInput, command: HeldCommand, ctx: ToolContext) -> str:
    if command.state() == "running":
        raise ToolError(f"command {command.info.id} still runs; kill it first")
    assert ctx.commands is not None
    ctx.commands.remove(command)
    return f"Forgot {command.info.id}."


_ACTIONS: dict[str, Callable[[ProcessInput, HeldCommand, ToolContext], str]] = {
    "poll": _poll,
    "log": _log,
    "write": _write,
    "send-keys": _send_keys,
    "submit": _submit,
    "kill": _kill,
    "clear": _clear,
}
