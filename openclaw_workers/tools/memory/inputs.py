"""The arguments of the memory tools."""

from __future__ import annotations

from pydantic import Field

from openclaw_workers.tools.input import NonBlankText, ToolInput


class SearchInput(ToolInput):
    query: NonBlankText
    """What to look for, in plain words. Quoted words, or words joined by AND, must all appear."""
    maxResults: int | None = Field(default=None, ge=1, le=50)  # noqa: N815 - the model's spelling
    """Most results to return."""
    minScore: float | None = Field(default=None, ge=0, le=1)  # noqa: N815
    """Leave out results with a lower score."""


class GetInput(ToolInput):
    path: NonBlankText
    """A memory file as memory_search names it, such as MEMORY.md or memory/2026-01-31.md."""
    from_: int | None = Field(default=None, ge=1, alias="from")
    """First line to read, counted from 1."""
    lines: int | None = Field(default=None, ge=1)
    """How many lines to read; without it, to the end."""


class WriteInput(ToolInput):
    content: NonBlankText
    """The text to add, in Markdown."""
    path: str | None = None
    """MEMORY.md for lasting facts, or a file in memory/; without it, today's file in memory/."""
