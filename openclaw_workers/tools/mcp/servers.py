"""The MCP servers of one worker process: one connection each, kept by one thread with an event loop.

Most installations have none. So the thread starts, and the `mcp` package is imported, only where a server is
configured: the import takes seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import structlog

from openclaw_workers.config.mcp import McpServerSettings, McpSettings
from openclaw_workers.tools.mcp.server_health import ServerState, ToolSet

log = structlog.get_logger(__name__)

STOP_SECONDS = 5.0


class McpServers:
    def __init__(self, settings: McpSettings) -> None:
        self._settings: Mapping[str, McpServerSettings] = {
            name: server for name, server in settings.servers.items() if server.enabled
        }
        self._wait_seconds = settings.start_wait_seconds
        self._states = {name: ServerState(name) for name in self._settings}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._wait_until = 0.0
        self._is_waited_for = bool(self._settings)
        # The same tuple until something changes, as `ToolServers` promises: the policy caches its decisions by it.
        self._joined = lru_cache(maxsize=1)(_join)

    def start(self) -> None:
        """Begin to connect, if that has not begun; returns at once."""
        with self._lock:
            if self._thread is not None or not self._settings or self._stopping.is_set():
                return
            self._wait_until = time.monotonic() + self._wait_seconds
            self._thread = threading.Thread(target=self._work, name="ocw-mcp", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the servers that this process has started."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def tools(self) -> ToolSet:
        """The tools of the servers that are connected. Waits a little for servers that are being started."""
        if not self._settings:
            return ()
        self.start()
        if self._is_waited_for:
            self._wait()
        return self._joined(tuple(state.tools for state in self._states.values()))

    def report(self) -> list[dict[str, Any]]:
        """What `ocw mcp status` shows of this process."""
        return [state.report() for state in self._states.values()] if self._thread else []

    def _wait(self) -> None:
        for state in self._states.values():
            state.settled.wait(max(0.0, self._wait_until - time.monotonic()))
        with self._lock:
            if not self._is_waited_for:
                return
            # Only the first turns wait. A server that starts late must not delay every turn after them.
            self._is_waited_for = False
        if late := [name for name, state in self._states.items() if not state.settled.is_set()]:
            log.warning("mcp.not_waited_for", servers=late, seconds=self._wait_seconds)

    def _work(self) -> None:
        from openclaw_workers.tools.mcp.loop import run_connections  # noqa: PLC0415 - imports the `mcp` package

        try:
            run_connections(self._settings, self._states, self._stopping)
        except Exception:
            log.exception("mcp.failed")
        finally:
            for state in self._states.values():
                state.stopped()


def _join(tools: tuple[ToolSet, ...]) -> ToolSet:
    return tuple(tool for some in tools for tool in some)


NO_SERVERS = McpServers(McpSettings())
