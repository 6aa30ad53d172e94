"""The event loop that keeps the connections to all MCP servers of this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import anyio
import anyio.from_thread
import anyio.to_thread

from openclaw_workers.config.mcp import McpServerSettings
from openclaw_workers.tools.mcp.connection import ServerConnection
from openclaw_workers.tools.mcp.server_health import ServerState


def run_connections(
    settings: Mapping[str, McpServerSettings], states: Mapping[str, ServerState], stopping: threading.Event
) -> None:
    """Returns when `stopping` is set and every server has ended."""
    anyio.run(_run, settings, states, stopping)


async def _run(
    settings: Mapping[str, McpServerSettings], states: Mapping[str, ServerState], stopping: threading.Event
) -> None:
    async with anyio.from_thread.BlockingPortal() as portal, anyio.create_task_group() as tasks:
        for name, server in settings.items():
            tasks.start_soon(ServerConnection(server, states[name], portal).supervise)
        await anyio.to_thread.run_sync(stopping.wait, abandon_on_cancel=True)
        tasks.cancel_scope.cancel()
        await portal.stop(cancel_remaining=True)
