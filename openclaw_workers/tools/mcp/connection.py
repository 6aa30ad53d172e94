"""One MCP server: connected, watched, and started again when it fails. Runs in the event loop of `McpServers`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import anyio
import anyio.from_thread
import structlog
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import ToolListChangedNotification

from openclaw_workers.child_processes import clean_environment
from openclaw_workers.config.mcp import McpServerSettings
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.mcp.failures import failure_text
from openclaw_workers.tools.mcp.flood_guard import FloodGuard
from openclaw_workers.tools.mcp.http_transport import http_transport
from openclaw_workers.tools.mcp.listing import listed_tools
from openclaw_workers.tools.mcp.server_health import ServerState
from openclaw_workers.tools.mcp.stdio_transport import stdio_transport
from openclaw_workers.tools.mcp.tool import McpTool

log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS = 0.5
LAST_RETRY_SECONDS = 60.0
PROVEN_SECONDS = 60.0
"""A server that has worked for this long is restarted at once, as after its first failure."""
CHECK_SECONDS = 10.0
"""A server that does not list its tools within this time counts as hung."""
LISTING_PAUSE_SECONDS = 1.0
"""Between two listings, however often the server says that its tools have changed."""
LISTEN_AGAIN_SECONDS = 15.0


class ConnectionLost(Exception):
    """The server ended, or sent too much."""


class ServerConnection:
    def __init__(
        self, settings: McpServerSettings, state: ServerState, portal: anyio.from_thread.BlockingPortal
    ) -> None:
        self._settings = settings
        self._state = state
        self._portal = portal
        self._slots = anyio.Semaphore(settings.max_concurrent)
        self._client: Client | None = None
        self._connected = anyio.Event()
        self._look = anyio.Event()
        self._loss = ""
        self._tools: dict[str, McpTool] = {}

    async def supervise(self) -> None:
        """Keep the server connected until this task is cancelled."""
        while True:
            began, problem = anyio.current_time(), "it ended"
            try:
                await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever it is, the server is started again
                # The transport knows why the connection ended; the SDK's error only follows from it.
                known = ConnectionLost(self._loss) if self._loss else error
                problem = failure_text(known, self._secrets())
            if anyio.current_time() - began > PROVEN_SECONDS:
                self._state.proven()
            self._state.lost(problem)
            pause = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (self._state.failures - 1))
            log.warning("mcp.lost", server=self._state.name, problem=problem, retry_seconds=pause)
            # Some randomness, so that not all workers return to a shared server at the same moment.
            await anyio.sleep(pause * random.uniform(0.8, 1.2))

    async def _serve(self) -> None:
        """Returns never: raises what ended the connection."""
        self._loss, self._look = "", anyio.Event()
        with anyio.fail_after(self._settings.start_timeout_seconds) as starting:
            async with Client(self._transport(), cache=None, message_handler=self._on_message) as client:
                await self._list(client)
                # The time limit is for the start, but its scope stays open as long as the connection.
                starting.deadline = math.inf
                self._client = client
                self._connected.set()
                try:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._listen, client)
                        await self._watch(client)
                finally:
                    self._client, self._connected = None, anyio.Event()

    def _transport(self) -> Any:
        settings, guard = self._settings, FloodGuard(self._settings.max_message)
        if settings.url is not None:
            return http_transport(settings.url, _values(settings.headers), guard, self._on_lost)
        argv, cwd = [str(settings.command), *settings.args], str(settings.cwd) if settings.cwd else None
        return stdio_transport(argv, clean_environment() | _values(settings.env), cwd, guard, self._on_lost)

    def _on_lost(self, reason: str) -> None:
        self._loss = self._loss or reason
        self._look.set()

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._look.set()

    async def _listen(self, client: Client) -> None:
        """Hear of changed tools from servers of the newer protocol; older ones send it unasked."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._look.set()
            except ListenNotSupportedError:
                return
            except MCPError as error:
                if not self._loss:
                    log.debug("mcp.no_changes", server=self._state.name, error=str(error))
            except (SubscriptionLost, TimeoutError):
                self._look.set()
            await anyio.sleep(LISTEN_AGAIN_SECONDS)

    async def _watch(self, client: Client) -> None:
        """List the tools again whenever there is a reason to; a server that cannot is hung or gone."""
        while True:
            await self._look.wait()
            # Before the listing, so that a change that happens during it causes another one.
            self._look = anyio.Event()
            if self._loss:
                raise ConnectionLost(self._loss)
            with anyio.fail_after(CHECK_SECONDS):
                await self._list(client)
            await anyio.sleep(LISTING_PAUSE_SECONDS)

    async def _list(self, client: Client) -> None:
        settings, state = self._settings, self._state
        listed, left_out = await listed_tools(client, state.name, most=settings.max_tools)
        # A tool that did not change stays the same object, with what it has cached.
        kept = {name: tool for name, tool in self._tools.items() if tool.listed in listed}
        for each in listed:
            if each.name not in kept:
                limits = {"seconds": settings.timeout_seconds, "max_output_bytes": settings.max_output}
                kept[each.name] = McpTool(each, self, **limits)
        is_news = kept != self._tools or not state.settled.is_set()
        self._tools = kept
        about = client.server_info
        state.ready(
            tuple(kept[each.name] for each in listed),
            left_out=left_out,
            server=f"{about.name} {about.version}" if about else "",
        )
        if is_news:
            log.info("mcp.ready", server=state.name, tools=len(kept), left_out=left_out)

    def start_call(
        self, tool: str, arguments: dict[str, Any], *, seconds: float, progress: Callable[[str], None]
    ) -> Future[Any]:
        """Called from the threads of turns.

        Raises:
            ToolError: this process is leaving.
        """
        try:
            return self._portal.start_task_soon(self._call, tool, arguments, seconds, progress)
        except RuntimeError as error:
            raise ToolError(f"the MCP server {self._state.name} was stopped with its worker") from error

    async def _call(self, tool: str, arguments: dict[str, Any], seconds: float, progress: Callable[[str], None]) -> Any:
        server, waits_for = self._state.name, "one of its calls to end"
        try:
            with anyio.fail_after(seconds):
                async with self._slots:
                    waits_for = "it to be connected"
                    client = await self._connected_client()
                    waits_for = "its answer"
                    return await client.call_tool(tool, arguments, progress_callback=_showing(progress))
        except TimeoutError as error:
            # A listing shows whether the server hangs or only this call was slow.
            if waits_for == "its answer":
                self._look.set()
            why = f" ({self._state.problem})" if self._state.problem else ""
            raise ToolTimedOut(
                f"the MCP server {server} did not answer within {seconds:g} seconds: still waiting for {waits_for}{why}"
            ) from error
        except MCPError as error:
            self._look.set()
            raise ToolError(f"the MCP server {server} reports an error", output=error.message) from error
        except Exception as error:
            self._look.set()
            text = failure_text(error, self._secrets())
            raise ToolError(f"the call to the MCP server {server} failed", output=text) from error

    async def _connected_client(self) -> Client:
        # Again, because the connection may be lost between the event and the moment this task runs.
        while self._client is None:
            await self._connected.wait()
        return self._client

    def _secrets(self) -> list[str]:
        return [*_values(self._settings.env).values(), *_values(self._settings.headers).values()]


def _values(secrets: Mapping[str, Any]) -> dict[str, str]:
    return {name: secret.get_secret_value() for name, secret in secrets.items()}


def _showing(progress: Callable[[str], None]) -> Any:
    async def show(done: float, total: float | None, message: str | None) -> None:
        progress(message or (f"{done:g} of {total:g}" if total else f"{done:g}"))

    return show
