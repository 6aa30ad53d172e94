"""The `write` tool: replace a file in the workspace atomically."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.changes import one_change_at_a_time, write_whole
from openclaw_workers.tools.files.paths import locate


class WriteInput(ToolInput):
    path: Annotated[str, Field(validation_alias=AliasChoices("path", "file_path"))]
    """File to write, relative to the workspace; missing directories are made."""
    content: str
    """The whole new content of the file."""


class Write(Tool[WriteInput]):
    """Write a text file in the workspace, replacing what it held before."""

    name = "write"
    effect = Effect.IDEMPOTENT
    input_type = WriteInput

    def run(self, args: WriteInput, ctx: ToolContext) -> str:
        place = locate(ctx.workspace, args.path)
        if not place.parts or args.path.endswith("/"):
            raise ToolError(f"{args.path!r} is a directory; name the file to write in it")
        data = args.content.encode()
        with one_change_at_a_time(place.root, ctx.cancel):
            is_new = write_whole(place, data)
        done = "created" if is_new else "replaced"
        return f"Wrote {len(data):,} bytes to {place.shown} ({done})."
