"""The `write` tool: replace a file in the workspace atomically."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.paths import locate, os_errors_as_tool_errors, parent_directory


class WriteInput(ToolInput):
    path: str
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
        with os_errors_as_tool_errors("write", place), parent_directory(place, create=True) as parent:
            before = _status(place.parts[-1], parent)
            if before is not None and stat.S_ISDIR(before.st_mode):
                raise ToolError(f"{place.shown} is a directory; name the file to write in it")
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise ToolError(f"{place.shown} is not a regular file and is left alone; use another name")
            mode = None if before is None else stat.S_IMODE(before.st_mode)
            _replace(place.parts[-1], data, mode, parent)
        done = "created" if before is None else "replaced"
        return f"Wrote {len(data):,} bytes to {place.shown} ({done})."


def _status(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _replace(name: str, data: bytes, mode: int | None, parent: int) -> None:
    """Write a temporary file next to the target, sync it, then rename it: a reader sees the old or the new file."""
    beside = f".ocw-{secrets.token_hex(8)}.tmp"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=parent)
        raise
    os.fsync(parent)
