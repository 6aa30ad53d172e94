"""MCP servers of one process, and a short way to call their tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.tool_runner import ToolOutcome, run_call
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.mcp import McpSettings
from openclaw_workers.domain.transcript import ToolCallBlock
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.mcp.servers import McpServers

SUPPORT = Path(__file__).parents[3] / "support"
STUB = [str(SUPPORT / "mcp_stub.py")]
SDK_SERVER = str(SUPPORT / "mcp_server.py")


class Servers:
    """The servers of one process, as a worker uses them."""

    def __init__(self, servers: McpServers, workspace: Path) -> None:
        self.all = servers
        self.shown: list[str] = []
        self.cancel = Cancel()
        self._workspace = workspace

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.all.tools()]

    def report(self, index: int = 0) -> dict[str, Any]:
        return self.all.report()[index]

    def call(self, name: str, within: float = 60, /, **arguments: Any) -> ToolOutcome:
        context = ToolContext(
            workspace=self._workspace,
            call_id="call_1",
            agent_id="main",
            session_key="agent:main:main",
            cancel=self.cancel,
            timeout_seconds=within,
            progress=self.shown.append,
        )
        tools = {tool.name: tool for tool in self.all.tools()}
        return run_call(ToolCallBlock(id="call_1", name=name, arguments=arguments), tools, context)


MakeServers = Callable[..., Servers]


@pytest.fixture
def make_servers(tmp_path: Path) -> Iterator[MakeServers]:
    made: list[McpServers] = []

    def make(start_wait_seconds: float = 60, **servers: Mapping[str, Any]) -> Servers:
        settings = McpSettings.model_validate({"servers": servers, "startWaitSeconds": start_wait_seconds})
        made.append(McpServers(settings))
        return Servers(made[-1], tmp_path)

    yield make
    for each in made:
        each.stop()


def stub(*flags: str, **settings: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [*STUB, *flags], **settings}
