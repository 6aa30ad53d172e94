"""The tools that a server lists, in our form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.tools.mcp.names import tool_name
from openclaw_workers.tools.mcp.tool import ListedTool
from openclaw_workers.tools.schemas import portable_schema

MOST_PAGES = 50


async def listed_tools(client: Any, server: str, *, most: int) -> tuple[list[ListedTool], int]:
    """The server's tools, and how many more it has than we use."""
    if client.server_capabilities.tools is None:
        return [], 0
    found: list[Any] = []
    cursor = None
    # A faulty server may return a cursor for ever.
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > most:
            break
    return named(server, found[:most]), max(0, len(found) - most)


def named(server: str, tools: Sequence[Any]) -> list[ListedTool]:
    """Each under a name of its own; a name that the server lists twice counts once."""
    listed: dict[str, ListedTool] = {}
    for tool in {tool.name: tool for tool in tools}.values():
        name = tool_name(server, tool.name, listed)
        schema = portable_schema(tool.input_schema if isinstance(tool.input_schema, Mapping) else {})
        listed[name] = ListedTool(server, tool.name, name, tool.description or tool.title or "", schema)
    return list(listed.values())
