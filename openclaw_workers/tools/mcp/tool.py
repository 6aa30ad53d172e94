"""A tool of an MCP server as a tool of the agent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ConfigDict

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.untrusted import neutralise
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolAnswer, ToolContext, ToolInput, ToolSource
from openclaw_workers.tools.mcp.results import answer_blocks, texts_of
from openclaw_workers.tools.output_limit import shorten_line
from openclaw_workers.tools.schemas import InputSchema
from openclaw_workers.tools.wait_for_result import wait_for_result

MAX_DESCRIPTION_CHARS = 4_000
LOOP_SECONDS = 5.0
"""The connection itself ends a call in time; this much later the caller no longer relies on it."""


class AnyInput(ToolInput):
    """Any arguments: the server checks them."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Connection(Protocol):
    def start_call(
        self, tool: str, arguments: dict[str, Any], *, seconds: float, progress: Callable[[str], None]
    ) -> Future[Any]:
        """Begin a call; the future has its `CallToolResult`, or raises ToolError."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it."""

    server: str
    original_name: str
    name: str
    description: str
    schema: InputSchema


class McpTool(Tool[AnyInput]):
    effect = Effect.ONCE  # what a server says of its tools' effects is no more than a hint
    input_type = AnyInput

    def __init__(self, listed: ListedTool, connection: Connection, *, seconds: float, max_output_bytes: int) -> None:
        self.listed = listed
        self.name = listed.name
        self.source = ToolSource("mcp", listed.server)
        self.groups = self.source.groups
        self.max_output_bytes = max_output_bytes
        self._connection = connection
        self._seconds = seconds

    def description(self) -> str:
        text = " ".join(replace_surrogates(self.listed.description).split())
        # The server wrote this, and it goes into every prompt.
        about = neutralise(shorten_line(text, MAX_DESCRIPTION_CHARS))
        return about or f"The tool {self.listed.original_name} of the server {self.listed.server}"

    def input_schema(self) -> dict[str, Any]:
        return self.listed.schema.schema

    def is_result_untrusted(self, args: AnyInput) -> bool:
        return True

    def run(self, args: AnyInput, ctx: ToolContext) -> ToolAnswer:
        listed, seconds = self.listed, min(self._seconds, ctx.timeout_seconds)
        arguments = listed.schema.original_arguments(args.model_extra or {})
        future = self._connection.start_call(
            listed.original_name, arguments, seconds=seconds, progress=lambda line: ctx.progress(shorten_line(line))
        )
        result = wait_for_result(future, ctx.cancel, seconds=seconds + LOOP_SECONDS, name=self.name)
        if result.is_error:
            raise ToolError(f"{self.name} reports a failure", output=texts_of(result))
        return answer_blocks(result, ctx.workspace, listed.original_name)
