"""The `read` tool: read a text file in the workspace, page by page."""

from __future__ import annotations

import os
import stat
import time
from typing import IO, Any

from pydantic import Field

from openclaw_workers.domain.suggest import nearest
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files import lines
from openclaw_workers.tools.files.documentation import PREFIX, docs_dir
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.files.paths import WorkspacePath, locate, os_errors_as_tool_errors, parent_directory
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES

_PATTERN_SECONDS = 5.0
_SAMPLE_BYTES = 8_192
_LISTED_NAMES = 50


class ReadInput(ToolInput):
    path: str
    """File to read, relative to the workspace; docs:// and a name reads the documentation."""
    offset: int = Field(default=1, ge=1)
    """Line to start at; the first line is 1."""
    limit: int = Field(default=2000, ge=1, le=100_000)
    """Lines to return at most."""
    pattern: str | None = Field(default=None, min_length=1, max_length=1000)
    """Regular expression (Python syntax): return only the lines it is found in, with their numbers."""


class Read(Tool[ReadInput]):
    """Read a text file in the workspace. Long files come in pages: the answer ends with the offset to go on at."""

    name = "read"
    effect = Effect.NONE
    input_type = ReadInput

    def is_result_untrusted(self, args: ReadInput) -> bool:
        return not _is_documentation(args.path)

    def run(self, args: ReadInput, ctx: ToolContext) -> str:
        place = _locate(ctx, args.path)
        with os_errors_as_tool_errors("read", place), _open(place) as file:
            description = _describe_if_binary(file, place)
            if description:
                return description
            page = _search(file, args, ctx) if args.pattern else _page(file, args, ctx)
        return _format_page(page, args, place)


def _locate(ctx: ToolContext, named: str) -> WorkspacePath:
    docs = docs_dir() if named.startswith(PREFIX) else None
    return locate(docs, named.removeprefix(PREFIX) or ".") if docs else locate(ctx.workspace, named)


def _is_documentation(named: str) -> bool:
    return named.startswith(PREFIX) and docs_dir() is not None


def _open(place: WorkspacePath) -> IO[bytes]:
    if not place.parts:
        raise _directory_error(place.root, ".")
    with parent_directory(place) as parent:
        try:
            # O_NONBLOCK: otherwise opening a named pipe would wait for a writer.
            fd = os.open(place.parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        except FileNotFoundError:
            near = nearest(place.parts[-1], os.listdir(parent))
            hint = f"; did you mean {'/'.join((*place.parts[:-1], near))!r}?" if near else ""
            raise ToolError(f"no such file: {place.shown}{hint}") from None
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    try:
        if stat.S_ISDIR(mode):
            raise _directory_error(fd, place.shown)
        raise ToolError(f"{place.shown} is not a regular file and cannot be read")
    finally:
        os.close(fd)


def _directory_error(directory: str | int, shown: str) -> ToolError:
    """The error lists the file names as untrusted output, because others chose them."""
    names = sorted(os.listdir(directory))
    if not names:
        return ToolError(f"{shown} is a directory, not a file; it holds nothing")
    listed = ", ".join(names[:_LISTED_NAMES])
    more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
    return ToolError(f"{shown} is a directory, not a file; it holds:", output=listed + more)


def _describe_if_binary(file: IO[bytes], place: WorkspacePath) -> str | None:
    sample = os.pread(file.fileno(), _SAMPLE_BYTES, 0)  # keeps the file position, which a child may inherit
    unreadable = sample.decode(errors="replace").count("\ufffd")
    # A few invalid bytes may come from another encoding, or from a character cut by the end of the sample.
    if b"\0" not in sample and unreadable <= max(1, len(sample) // 10):
        return None
    size_bytes = os.fstat(file.fileno()).st_size
    return f"{place.shown} is a binary file of {size_bytes:,} bytes (it starts {sample[:8]!r}); not shown."


def _page(file: IO[bytes], args: ReadInput, ctx: ToolContext) -> dict[str, Any]:
    deadline = time.monotonic() + ctx.timeout_seconds

    def check() -> None:
        ctx.cancel.check()
        if time.monotonic() > deadline:
            raise ToolTimedOut(f"reading up to line {args.offset} took longer than {ctx.timeout_seconds:g} s")

    return lines.select_lines(file, offset=args.offset, limit=args.limit, max_bytes=MAX_OUTPUT_BYTES, check=check)


def _search(file: IO[bytes], args: ReadInput, ctx: ToolContext) -> dict[str, Any]:
    seconds = min(_PATTERN_SECONDS, ctx.timeout_seconds)
    fd = file.fileno()
    request = {
        "fd": fd,
        "pattern": args.pattern,
        "offset": args.offset,
        "limit": args.limit,
        "max_bytes": MAX_OUTPUT_BYTES,
    }
    try:
        return run_isolated(lines.__file__, request, cancel=ctx.cancel, timeout_seconds=seconds, pass_fds=(fd,))
    except ToolTimedOut as error:
        raise ToolTimedOut(
            f"the pattern {args.pattern!r} did not finish within {seconds:g} s; "
            "use a simpler one (no nested repetition such as '(a+)+') or a narrower offset"
        ) from error


def _format_page(page: dict[str, Any], args: ReadInput, place: WorkspacePath) -> str:
    chosen: list[str] = page["lines"]
    if not chosen:
        if args.offset > max(1, page["last"]):
            raise ToolError(f"{place.shown} has {page['last']} lines; offset {args.offset} is past its end")
        return f"(no line of {place.shown} matches)" if args.pattern else f"({place.shown} is empty)"
    text = "\n".join(chosen)
    if page["next_offset"] is None:
        return text
    why = f"{MAX_OUTPUT_BYTES // 1024} KB" if page["stopped_by"] == "size" else f"{args.limit} lines"
    return f"{text}\n[stopped after {why}; more follows: continue with offset={page['next_offset']}]"
