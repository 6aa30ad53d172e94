"""The `grep` tool: search the contents of files."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

from pydantic import AliasChoices, Field, StrictBool

from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files import ripgrep, search_script
from openclaw_workers.tools.files.changes import status_of
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.files.open_file import open_file
from openclaw_workers.tools.files.paths import WorkspacePath, locate, open_place, os_errors_as_tool_errors
from openclaw_workers.tools.files.text_content import byte_order_mark, decode_text
from openclaw_workers.tools.output_limit import LimitedLines, shorten_line

_SECONDS = 20.0
Match = tuple[str, int]


class GrepInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=1000)
    """Regular expression to look for in each line."""
    path: str = "."
    """Directory or file to search, relative to the workspace."""
    glob: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    """Only files that match, such as *.py or src/**/*.ts."""
    ignore_case: Annotated[StrictBool, Field(validation_alias=AliasChoices("ignoreCase", "ignore_case"))] = False
    """Do not distinguish capital and small letters."""
    literal: StrictBool = False
    """Take the pattern as plain text."""
    context: int = Field(default=0, ge=0, le=20)
    """Lines to show before and after each match."""
    limit: int = Field(default=100, ge=1, le=1000)
    """Matching lines to show at most."""


class Grep(Tool[GrepInput]):
    """Search the contents of files for a pattern. Returns path:line: text for each matching line.

    Hidden files are searched, binary files and directories such as .git and node_modules are not.
    """

    name = "grep"
    effect = Effect.NONE
    input_type = GrepInput

    def is_result_untrusted(self, args: GrepInput) -> bool:
        return True

    def run(self, args: GrepInput, ctx: ToolContext) -> str:
        if args.glob is not None and args.glob.startswith("!"):
            raise ToolError("glob names the files to search; it cannot begin with !")
        place = locate(ctx.workspace, args.path)
        directory, name = _start(place)
        seconds = min(_SECONDS, ctx.timeout_seconds)
        try:
            matches = _search(directory, name, args, ctx, seconds)
        except ToolTimedOut:
            raise ToolTimedOut(
                f"the search for {args.pattern!r} did not finish within {seconds:g} s; "
                "use a narrower path or glob, or a simpler pattern (no nested repetition such as '(a+)+')"
            ) from None
        return _format(directory, matches, args, ctx)


def _start(place: WorkspacePath) -> tuple[WorkspacePath, str]:
    """The directory to search, and the name of the one file in it to search, if it is one."""
    status = status_of(place) if place.parts else None
    if place.parts and status is None:
        raise ToolError(f"no such file or directory: {place.shown}")
    if status is None or stat.S_ISDIR(status.st_mode):
        return place, ""
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"cannot search {place.shown}: it is neither a directory nor a regular file")
    return WorkspacePath(place.root, place.parts[:-1]), place.parts[-1]


def _search(directory: WorkspacePath, name: str, args: GrepInput, ctx: ToolContext, seconds: float) -> list[Match]:
    found: list[Match] | None = None
    # A name that is no text would have to be given to ripgrep as bytes; a line feed ends its pattern.
    if (rg := ripgrep.program()) and "\n" not in args.pattern and "\0" not in args.pattern + (args.glob or ""):
        with os_errors_as_tool_errors("search", directory):
            found = ripgrep.search(
                rg,
                directory.path,
                args.pattern,
                name=name,
                glob=args.glob,
                ignore_case=args.ignore_case,
                literal=args.literal,
                limit=args.limit,
                cancel=ctx.cancel,
                timeout_seconds=seconds,
            )
    # Its regular expressions know less than Python's, so one that it does not accept is tried there.
    return _search_here(directory, name, args, ctx, seconds) if found is None else found


def _search_here(directory: WorkspacePath, name: str, args: GrepInput, ctx: ToolContext, seconds: float) -> list[Match]:
    request: dict[str, Any] = {
        "kind": "grep",
        "name": name,
        "pattern": args.pattern,
        "glob": args.glob,
        "ignore_case": args.ignore_case,
        "literal": args.literal,
        "limit": args.limit,
    }
    with os_errors_as_tool_errors("search", directory), open_place(directory) as fd:
        answer = run_isolated(
            search_script.__file__,
            {**request, "fd": fd},
            cancel=ctx.cancel,
            timeout_seconds=seconds,
            pass_fds=(fd,),
        )
    return [(path, number) for path, number in answer["matches"]]


def _format(directory: WorkspacePath, matches: Sequence[Match], args: GrepInput, ctx: ToolContext) -> str:
    wanted = matches[: args.limit]
    shown = LimitedLines(args.limit * (2 * args.context + 2))
    count = 0
    for path, group in groupby(wanted, key=lambda match: match[0]):
        ctx.cancel.check()
        place = WorkspacePath(directory.root, (*directory.parts, *path.split("/")))
        numbers = [number for _, number in group]
        for block in _blocks(_lines(place), numbers, args.context):
            separator = ["--"] if args.context and shown.lines else []
            if not shown.add(*separator, *(_line(place, *line) for line in block)):
                break
            count += sum(is_match for _, _, is_match in block)
        if shown.is_full:
            break
    if not count:
        return f"(no match for {args.pattern!r})" if not shown.is_full else "(the matching lines are too long)"
    if len(matches) > args.limit or shown.is_full:
        shown.lines.append(f"[stopped after {count} matching lines; there are more: narrow the pattern, path or glob]")
    return "\n".join(shown.lines)


def _lines(place: WorkspacePath) -> list[str]:
    """The lines of a file; none if it is gone, or is no file of the workspace."""
    try:
        with open_file(place) as file:
            data = file.read(search_script.MAX_FILE_BYTES)
        if byte_order_mark(data) and b"\0" in data:
            return decode_text(data, place.shown).text.split("\n")
    except (ToolError, OSError):
        return []
    return data.decode(errors="replace").split("\n")


def _blocks(lines: Sequence[str], numbers: Sequence[int], context: int) -> Iterator[list[tuple[int, str, bool]]]:
    """The matching lines with those around them; matches that are near one another are one block."""
    matching = {number for number in numbers if number <= len(lines)}
    around = sorted({n for match in matching for n in range(match - context, match + context + 1)})
    near = [n for n in around if 1 <= n <= len(lines)]
    for _, block in groupby(enumerate(near), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in block]
        # Without context each match stands alone, so that a limit cuts between any two of them.
        parts = [run] if context else [[number] for number in run]
        for part in parts:
            yield [(number, lines[number - 1].removesuffix("\r"), number in matching) for number in part]


def _line(place: WorkspacePath, number: int, text: str, is_match: bool) -> str:
    mark = ":" if is_match else "-"
    return f"{place.shown}{mark}{number}{mark} {shorten_line(text)}"
