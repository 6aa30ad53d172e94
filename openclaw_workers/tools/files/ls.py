"""The `ls` tool: list a directory."""

from __future__ import annotations

import os
import stat
from itertools import islice

from pydantic import Field

from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.paths import locate, open_place, os_errors_as_tool_errors
from openclaw_workers.tools.output_limit import LimitedLines

_READ_ENTRIES = 50_000
"""Of a larger directory some are shown, but not the first ones by name."""


class LsInput(ToolInput):
    path: str = "."
    """Directory to list, relative to the workspace."""
    limit: int = Field(default=500, ge=1, le=10_000)
    """Entries to show at most."""


class Ls(Tool[LsInput]):
    """List a directory of the workspace, hidden files included. Directories end with a slash, links with @; files are
    shown with their size in bytes.
    """

    name = "ls"
    effect = Effect.NONE
    input_type = LsInput

    def is_result_untrusted(self, args: LsInput) -> bool:
        return True

    def run(self, args: LsInput, ctx: ToolContext) -> str:
        place = locate(ctx.workspace, args.path)
        shown = LimitedLines(args.limit)
        with os_errors_as_tool_errors("list", place), open_place(place) as fd:
            with os.scandir(fd) as found:
                names = sorted(entry.name for entry in islice(found, _READ_ENTRIES + 1))
            for name in names[:_READ_ENTRIES]:
                if not shown.add(_line(name, fd)):
                    break
        if not names:
            return f"({place.shown} is empty)"
        left = len(names) - len(shown.lines)
        if left:
            more = "many" if len(names) > _READ_ENTRIES else f"{left:,}"
            shown.lines.append(f"[{more} more; use find with a pattern, or a higher limit]")
        return "\n".join(shown.lines)


def _line(name: str, directory: int) -> str:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    # It was deleted in the meantime.
    except OSError:
        return name
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    if stat.S_ISLNK(status.st_mode):
        return f"{name}@"
    return f"{name} {status.st_size:,}" if stat.S_ISREG(status.st_mode) else f"{name} (no regular file)"
