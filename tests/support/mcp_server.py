"""An MCP server made with the SDK, over stdio or, with a port, over streamable HTTP."""

from __future__ import annotations

import base64
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("sdk", version="2.0")


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def add(a: int, b: Annotated[int, Field(description="The second number")] = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def far(point: Point, others: list[Point] | None = None) -> str:
    """How far a point is."""
    return f"{abs(point.x) + abs(point.y)} and {len(others or [])} others"


@server.tool()
def picture() -> Image:
    """Draw something."""
    return Image(data=base64.b64decode("iVBORw0KGgo="), format="png")


@server.tool()
async def steps(ctx: Context) -> str:
    """Report progress."""
    await ctx.report_progress(1, 2, "half of it")
    return "all of it"


@server.tool()
def secret_of(ctx: Context) -> str:
    """What the request was signed with."""
    return str((ctx.headers or {}).get("authorization"))


@server.tool()
def broken() -> str:
    """Fail."""
    raise RuntimeError("something inside")


@server.tool()
async def change(ctx: Context) -> str:
    """Change the list of tools."""

    def added() -> str:
        """A new one."""
        return "I am new"

    server.add_tool(added)
    await ctx.notify_tools_changed()
    return "changed"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
