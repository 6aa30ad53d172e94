"""The `find` tool: find files by their names."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from openclaw_workers.errors import ToolTimedOut
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files import search_script
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.files.paths import locate, open_place, os_errors_as_tool_errors
from openclaw_workers.tools.output_limit import LimitedLines

_SECONDS = 20.0


class FindInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=500)
    """Glob, such as *.py, **/test_*.py or src/{a,b}/*."""
    path: str = "."
    """Directory to search, relative to the workspace."""
    limit: int = Field(default=1000, ge=1, le=10_000)
    """Names to return at most."""


class Find(Tool[FindInput]):
    """Find files and directories by a glob pattern. Returns paths relative to the workspace, in order; directories end
    with a slash. Directories such as .git and node_modules are not searched.
    """

    name = "find"
    effect = Effect.NONE
    input_type = FindInput

    def is_result_untrusted(self, args: FindInput) -> bool:
        return True

    def run(self, args: FindInput, ctx: ToolContext) -> str:
        place = locate(ctx.workspace, args.path)
        request: dict[str, Any] = {"kind": "find", "name": "", "glob": args.pattern, "limit": args.limit}
        seconds = min(_SECONDS, ctx.timeout_seconds)
        with os_errors_as_tool_errors("search", place), open_place(place) as fd:
            try:
                answer = run_isolated(
                    search_script.__file__,
                    {**request, "fd": fd},
                    cancel=ctx.cancel,
                    timeout_seconds=seconds,
                    pass_fds=(fd,),
                )
            except ToolTimedOut:
                raise ToolTimedOut(
                    f"the search for {args.pattern!r} did not finish within {seconds:g} s; use a narrower path"
                ) from None
        found: list[str] = answer["found"]
        if not found:
            return f"(nothing matches {args.pattern!r})"
        shown = LimitedLines(args.limit)
        prefix = "".join(f"{part}/" for part in place.parts)
        shown.add_all(prefix + path for path in found)
        if shown.is_full:
            shown.lines.append(f"[stopped after {len(shown.lines)}; there are more: narrow the pattern or the path]")
        return "\n".join(shown.lines)
