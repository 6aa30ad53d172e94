"""The `read` tool: a text file in pages, an image, or the text of a PDF."""

from __future__ import annotations

import os
import tempfile
import time
from typing import IO, Annotated, Any

from pydantic import AliasChoices, Field

from openclaw_workers.domain.media_types import IMAGES, MOST_IMAGE_BYTES, MOST_PDF_BYTES, PDF, shown_media_type
from openclaw_workers.domain.transcript import TextBlock
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.redaction import mask_before_cut
from openclaw_workers.tools.base import Effect, Tool, ToolAnswer, ToolContext, ToolInput, TrustedText
from openclaw_workers.tools.files import lines
from openclaw_workers.tools.files.documentation import PREFIX, docs_dir
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.files.open_file import open_file
from openclaw_workers.tools.files.paths import WorkspacePath, locate, os_errors_as_tool_errors
from openclaw_workers.tools.files.pdf import read_pdf
from openclaw_workers.tools.files.skill_files import find_skill_path
from openclaw_workers.tools.files.text_content import (
    MAX_TEXT_BYTES,
    SAMPLE_BYTES,
    byte_order_mark,
    decode_text,
    is_binary,
)
from openclaw_workers.tools.media import store_file
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES

_PATTERN_SECONDS = 5.0


class ReadInput(ToolInput):
    path: Annotated[str, Field(validation_alias=AliasChoices("path", "file_path"))]
    """File to read, relative to the workspace; docs:// and a name reads the documentation, <location> a skill."""
    offset: int = Field(default=1, ge=1)
    """Line to start at; the first line is 1."""
    limit: int = Field(default=2000, ge=1, le=100_000)
    """Lines to return at most."""
    pattern: str | None = Field(default=None, min_length=1, max_length=1000)
    """Regular expression (Python syntax): return only the lines it is found in, with their numbers."""
    pages: str | None = Field(default=None, min_length=1, max_length=200)
    """Pages of a PDF, such as 3 or 1-5; at most 20."""


class Read(Tool[ReadInput]):
    """Read a file in the workspace: text, an image (png, jpeg, gif, webp), or the text of a PDF. Long files come in
    pages: the answer ends with the offset or the pages to go on at."""

    name = "read"
    effect = Effect.NONE
    input_type = ReadInput

    def is_result_untrusted(self, args: ReadInput) -> bool:
        return not _is_documentation(args.path)

    def run(self, args: ReadInput, ctx: ToolContext) -> ToolAnswer:
        skill = find_skill_path(args.path, ctx.skill_paths)
        place = skill or _locate(ctx, args.path)
        is_ours = skill is not None or _is_documentation(args.path)
        with os_errors_as_tool_errors("read", place), open_file(place, is_ours=is_ours) as file:
            sample = os.pread(file.fileno(), SAMPLE_BYTES, 0)  # keeps the file position, which a child may inherit
            kind = shown_media_type(sample)
            if kind == PDF:
                return _read_pdf(file, args, place, ctx)
            if args.pages is not None:
                raise ToolError(f"{place.shown} is not a PDF and has no pages; leave out pages")
            if kind in IMAGES:
                return _read_image(file, place, ctx)
            text = _read_text(file, sample, args, place, ctx)
            return TrustedText(text) if place.path in ctx.skill_files else text


def _locate(ctx: ToolContext, named: str) -> WorkspacePath:
    docs = docs_dir() if named.startswith(PREFIX) else None
    return locate(docs, named.removeprefix(PREFIX) or ".") if docs else locate(ctx.workspace, named)


def _is_documentation(named: str) -> bool:
    return named.startswith(PREFIX) and docs_dir() is not None


def _read_image(file: IO[bytes], place: WorkspacePath, ctx: ToolContext) -> ToolAnswer:
    size_bytes = os.fstat(file.fileno()).st_size
    if size_bytes > MOST_IMAGE_BYTES:
        raise ToolError(f"{place.shown} has {size_bytes:,} bytes; models take images of up to {MOST_IMAGE_BYTES:,}")
    block = store_file(ctx.workspace, place.parts[-1], file.read())
    return [TextBlock(text=f"{place.shown}: {block.mime_type}, {size_bytes:,} bytes"), block]


def _read_pdf(file: IO[bytes], args: ReadInput, place: WorkspacePath, ctx: ToolContext) -> ToolAnswer:
    text = read_pdf(file.fileno(), place.shown, args.pages, cancel=ctx.cancel, timeout_seconds=ctx.timeout_seconds)
    if text is not None:
        return text
    size_bytes = os.fstat(file.fileno()).st_size
    if size_bytes > MOST_PDF_BYTES:
        raise ToolError(f"{place.shown} holds no text, only images, and is too large to be shown")
    file.seek(0)
    block = store_file(ctx.workspace, place.parts[-1], file.read())
    return [TextBlock(text=f"{place.shown} holds no text, only images; the document itself follows."), block]


def _read_text(file: IO[bytes], sample: bytes, args: ReadInput, place: WorkspacePath, ctx: ToolContext) -> str:
    size_bytes = os.fstat(file.fileno()).st_size
    mark = byte_order_mark(sample)
    if mark and b"\0" in sample and size_bytes <= MAX_TEXT_BYTES:
        # UTF-16. Lines are split by bytes, in a process that inherits a descriptor, so it needs a file in UTF-8.
        with tempfile.TemporaryFile() as decoded:
            decoded.write(decode_text(file.read(), place.shown).text.encode())
            decoded.seek(0)
            return _read_lines(decoded, args, place, ctx)
    if is_binary(sample):
        return f"{place.shown} is a binary file of {size_bytes:,} bytes (it starts {sample[:8]!r}); not shown."
    # The mark is no text; models would copy it into edits.
    file.seek(len(mark))
    return _read_lines(file, args, place, ctx)


def _read_lines(file: IO[bytes], args: ReadInput, place: WorkspacePath, ctx: ToolContext) -> str:
    page = _search(file, args, ctx) if args.pattern else _page(file, args, ctx)
    return _format_page(page, args, place)


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
    if page["cut"]:
        text = f"{mask_before_cut(text)}\n{page['cut']}"
    if page["next_offset"] is None:
        return text
    why = f"{MAX_OUTPUT_BYTES // 1024} KB" if page["stopped_by"] == "size" else f"{args.limit} lines"
    return f"{text}\n[stopped after {why}; more follows: continue with offset={page['next_offset']}]"
