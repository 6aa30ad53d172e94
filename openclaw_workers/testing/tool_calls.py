"""Call one tool as a worker does: with its input checked, its time and its output limited."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw_workers.agent.tool_runner import run_call
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import FileBlock, ImageBlock, ToolCallBlock
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.plugins.function_tool import FunctionTool
from openclaw_workers.tools.plugins.load import plugin_of
from openclaw_workers.tools.plugins.plugin_tool import PluginLimits


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    """What the model reads."""
    failed: bool = False
    files: Sequence[ImageBlock | FileBlock] = ()
    progress: Sequence[str] = ()
    """The lines that the tool showed while it ran."""


def run_tool(
    tool: FunctionTool[..., Any],
    arguments: Mapping[str, Any] | None = None,
    *,
    workspace: Path | None = None,
    agent_id: str = "main",
    session_key: str = "agent:main:main",
    timeout_seconds: float = 60,
) -> ToolResult:
    """Call a tool with the arguments that a model would send. Without `workspace` it gets a new empty directory."""
    shown: list[str] = []
    made = plugin_of("test", tool, PluginLimits(timeout_seconds)).tools[0]
    context = ToolContext(
        workspace=workspace or Path(tempfile.mkdtemp(prefix="openclaw-test-")),
        call_id="call-1",
        agent_id=agent_id,
        session_key=session_key,
        cancel=Cancel(),
        timeout_seconds=timeout_seconds,
        progress=shown.append,
    )
    wanted = ToolCallBlock(id="call-1", name=made.name, arguments=dict(arguments or {}))
    outcome = run_call(wanted, {made.name: made}, context)
    return ToolResult(outcome.quoted, outcome.failed, outcome.files, shown)
