"""A server that is a child process: JSON lines over its stdin and stdout.

Unlike the SDK's transport it limits what the server may send, keeps the last words of its stderr for reports, and says
that the process has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from openclaw_workers.tools.mcp.flood_guard import Flooded, FloodGuard

EXIT_SECONDS = 1.0
"""How long a server may take to exit after its stdin was closed, and again after SIGTERM."""
STDERR_BYTES = 2_000

OnLost = Callable[[str], None]


@dataclass(slots=True)
class _Server:
    process: anyio.abc.Process
    guard: FloodGuard
    on_lost: OnLost
    stderr: bytearray = field(default_factory=bytearray)
    is_ending: bool = False
    """We ended it."""

    async def read_messages(self, received: Any) -> None:
        try:
            async with received:
                self._lost(await self._read_to_the_end(received))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            self._lost("its output can no longer be read")

    async def _read_to_the_end(self, received: Any) -> str:
        """Pass messages on until there are no more; returns why. The reason must be known before the stream ends."""
        try:
            await self._read_lines(received)
        except Flooded as flood:
            return str(flood)
        code = await self._exit_code()
        last = self.stderr.decode(errors="replace").strip()
        return f"it ended with exit code {code}" + (f": {last}" if last else "")

    def _lost(self, reason: str) -> None:
        if not self.is_ending:
            self.on_lost(reason)

    async def _read_lines(self, received: Any) -> None:
        buffer = bytearray()
        assert self.process.stdout is not None
        async for chunk in self.process.stdout:
            self.guard.add(len(chunk), chunk.count(b"\n"))
            buffer += chunk
            *lines, rest = buffer.split(b"\n")
            buffer = rest
            for line in lines:
                self.guard.check_message(len(line))
                with suppress(ValueError):  # some servers print other lines to stdout too
                    await received.send(SessionMessage(jsonrpc_message_adapter.validate_json(bytes(line))))
            # A line without an end must not grow until the memory is full.
            self.guard.check_message(len(buffer))

    async def _exit_code(self) -> int | None:
        with anyio.move_on_after(EXIT_SECONDS):
            return await self.process.wait()
        return self.process.returncode

    async def write_messages(self, sent: Any) -> None:
        assert self.process.stdin is not None
        try:
            async with sent:
                async for each in sent:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self.process.stdin.send(text.encode(errors="replace") + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            self._lost("it no longer reads its input")

    async def keep_stderr(self) -> None:
        assert self.process.stderr is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for chunk in self.process.stderr:
                self.stderr += chunk
                del self.stderr[:-STDERR_BYTES]

    async def end(self) -> None:
        """Ask it to exit, then make it: the whole process group."""
        self.is_ending = True
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            if self.process.stdin is not None:
                await self.process.stdin.aclose()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.process.pid, number)
            with anyio.move_on_after(EXIT_SECONDS):
                while self.process.returncode is None:
                    await anyio.sleep(0.02)
            if self.process.returncode is not None:
                break
        with suppress(ProcessLookupError, PermissionError):  # what it has left behind
            os.killpg(self.process.pid, signal.SIGKILL)
        # Nothing public closes the pipes of a process whose descendants still hold the other ends.
        transport = getattr(getattr(self.process, "_process", None), "_transport", None)
        if transport is not None:
            with suppress(PermissionError):
                transport.close()


@asynccontextmanager
async def stdio_transport(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, guard: FloodGuard, on_lost: OnLost
) -> AsyncGenerator[Any, None]:
    """Start the server; yields its messages and where to send ours.

    Raises:
        OSError: the program cannot be started.
    """
    # In a session of its own, `end` can kill the whole group, and a Ctrl-C in the worker's terminal does not reach it.
    process = await anyio.open_process(
        list(argv), env=dict(env), cwd=cwd, stderr=subprocess.PIPE, start_new_session=True
    )
    server = _Server(process, guard, on_lost)
    received_in, received_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent_in, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.read_messages, received_in)
        tasks.start_soon(server.write_messages, sent_out)
        tasks.start_soon(server.keep_stderr)
        try:
            yield received_out, sent_in
        finally:
            # This often runs because the task was cancelled; without the shield, the first wait would leave the server
            # running.
            with anyio.CancelScope(shield=True):
                await server.end()
            tasks.cancel_scope.cancel()
            for stream in (received_in, received_out, sent_in, sent_out):
                stream.close()
