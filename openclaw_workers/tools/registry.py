"""The tools there are: an explicit list, and the other names they answer to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.files.read import Read
from openclaw_workers.tools.files.write import Write
from openclaw_workers.tools.sessions.list import SessionsHistory, SessionsList, SessionStatus
from openclaw_workers.tools.sessions.send import SessionsSend, SessionsYield, Subagents
from openclaw_workers.tools.sessions.spawn import SessionsSpawn
from openclaw_workers.tools.shell.exec import Exec

ALIASES = {"read_file": "read", "write_file": "write", "shell": "exec"} | dict.fromkeys(
    ("subagent.list", "subagent.stop", "subagent.send"), "subagents"
)
"""MiniClaw's names, accepted in calls and in policies."""


@cache
def _by_name() -> dict[str, Tool[Any]]:
    tools: list[Tool[Any]] = [Exec(), Read(), Write(), SessionsSpawn(), SessionsSend(), SessionsYield(), Subagents()]
    tools += [SessionsList(), SessionsHistory(), SessionStatus()]
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}


def builtin_tools() -> list[Tool[Any]]:
    return list(_by_name().values())


def canonical(name: str) -> str:
    """The name a tool goes by here; unknown names are returned as they are."""
    return ALIASES.get(name, name)


def arguments(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments, with what its name says: `subagent.stop` is `subagents` with the action stop."""
    _, dot, action = name.partition(".")
    return {**given, "action": action} if dot and canonical(name) == "subagents" else given


def specs(tools: Iterable[Tool[Any]] | None = None) -> list[ToolSpec]:
    """Tools, all or these, as a model sees them; always in the same order, so that prompts stay cacheable."""
    return [_spec(tool.name) for tool in (builtin_tools() if tools is None else tools)]


@cache
def _spec(name: str) -> ToolSpec:
    tool = _by_name()[name]
    return ToolSpec(tool.name, tool.description(), _schema(tool))


def _schema(tool: Tool[Any]) -> dict[str, Any]:
    """The input's schema without the titles pydantic makes up from the names, which tell a model nothing."""
    schema: dict[str, Any] = tool.input_type.model_json_schema()
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema
