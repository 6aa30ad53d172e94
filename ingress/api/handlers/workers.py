"""What the workers have loaded and connected: plugins and MCP servers."""

from __future__ import annotations

from typing import Any

from ingress.api.table import Call, NoInput
from openclaw_workers.queries.worker_answers import mcp_answer, plugin_check, plugins_answer


def list_plugins(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return plugins_answer(call.context)


def check_plugins(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return plugin_check(call.context)


def mcp_status(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return mcp_answer(call.context)
