"""The state of one MCP server in this process. The event loop's thread changes it; any thread reads it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any, Literal

from openclaw_workers.clock import now_ms
from openclaw_workers.tools.base import Tool

ToolSet = tuple[Tool[Any], ...]
Phase = Literal["starting", "ready", "waiting", "stopped"]

FAILURES_UNTIL_WITHDRAWN = 3
"""Until then a server that restarts keeps its tools, so that prompts do not change for every hiccup."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    phase: Phase = "starting"
    tools: ToolSet = ()
    left_out: int = 0
    server: str = ""
    since: int = 0
    restarts: int = 0
    failures: int = 0
    problem: str = ""


class ServerState:
    def __init__(self, name: str) -> None:
        self.name = name
        self.settled = threading.Event()
        """Set once the first attempt to start the server has succeeded or failed."""
        self._now = _Snapshot(since=now_ms())

    @property
    def tools(self) -> ToolSet:
        return self._now.tools

    @property
    def failures(self) -> int:
        """Attempts in a row that have failed."""
        return self._now.failures

    @property
    def problem(self) -> str:
        return self._now.problem

    def ready(self, tools: ToolSet, *, left_out: int, server: str) -> None:
        is_new = self._now.phase != "ready"
        since = now_ms() if is_new else self._now.since
        self._set(phase="ready", tools=tools, left_out=left_out, server=server, since=since, problem="")
        self.settled.set()

    def proven(self) -> None:
        """It has worked for a while, so that its next failure counts as the first."""
        self._set(failures=0)

    def lost(self, problem: str) -> None:
        """It has failed, or could not be started; it will be started again."""
        failures = self._now.failures + 1
        tools = self._now.tools if failures < FAILURES_UNTIL_WITHDRAWN else ()
        restarts = self._now.restarts + 1
        since = now_ms() if self._now.phase != "waiting" else self._now.since
        self._set(phase="waiting", tools=tools, failures=failures, restarts=restarts, problem=problem, since=since)
        self.settled.set()

    def stopped(self) -> None:
        self._set(phase="stopped", tools=())
        self.settled.set()

    def report(self) -> dict[str, Any]:
        """What `ocw mcp status` shows."""
        now = self._now
        return {
            "server": self.name,
            "state": now.phase,
            "tools": [tool.name for tool in now.tools],
            "toolsLeftOut": now.left_out,
            "version": now.server,
            "since": now.since,
            "restarts": now.restarts,
            "problem": now.problem,
        }

    def _set(self, **changed: Any) -> None:
        # One assignment of a frozen value: readers in other threads need no lock and see no half change.
        self._now = replace(self._now, **changed)
