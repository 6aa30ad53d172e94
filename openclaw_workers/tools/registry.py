"""The tools there are: an explicit list, and the other names they answer to."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from openclaw_workers.errors import ToolError
from openclaw_workers.models.tools import ToolSpec
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.exec import Exec
from openclaw_workers.tools.read import Read
from openclaw_workers.tools.write import Write

ALIASES = {"read_file": "read", "write_file": "write", "shell": "exec"}
"""MiniClaw's names, accepted in calls and in policies."""


@cache
def _by_name() -> dict[str, Tool[Any]]:
    tools: list[Tool[Any]] = [Exec(), Read(), Write()]
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}


def builtin_tools() -> list[Tool[Any]]:
    return list(_by_name().values())


def canonical(name: str) -> str:
    """The name a tool goes by here; unknown names are returned as they are."""
    return ALIASES.get(name, name)


def find(name: str) -> Tool[Any]:
    """The tool a model called.

    Raises:
        ToolError: there is none; the message names the nearest one.
    """
    tools = _by_name()
    tool = tools.get(canonical(name))
    if tool is None:
        near = difflib.get_close_matches(name, [*tools, *ALIASES], n=1)
        hint = f"did you mean {canonical(near[0])!r}?" if near else f"there are: {', '.join(tools)}"
        raise ToolError(f"unknown tool {name!r}; {hint}")
    return tool


def specs() -> list[ToolSpec]:
    """All tools as a model sees them, always in the same order, so that prompts stay cacheable."""
    return list(_specs())


@cache
def _specs() -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(tool.name, tool.description(), _schema(tool)) for tool in builtin_tools())


def _schema(tool: Tool[Any]) -> dict[str, Any]:
    """The input's schema without the titles pydantic makes up from the names, which tell a model nothing."""
    schema: dict[str, Any] = tool.input_type.model_json_schema()
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema
