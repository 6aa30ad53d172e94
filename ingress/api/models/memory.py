"""Memory in requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ingress.api.models.answers import Done, Json, Shape
from ingress.api.models.inputs import Name
from ingress.api.table import Input
from openclaw_workers.queries.memory_answers import MOST_RESULTS

Line = Annotated[int, Field(ge=1, le=10**9)]


class MemoryQuery(Input):
    agent_id: Name | None = None
    """Default: the default agent, or every agent where all can be shown."""


class MemoryFileQuery(MemoryQuery):
    path: Name
    """As a search or the list names it, such as MEMORY.md."""
    first: Line | None = None
    """First line."""
    lines: Line | None = None
    """How many lines."""


class MemorySearchQuery(MemoryQuery):
    query: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    """Quoted words, or words joined by AND, must all appear."""
    session_key: Name | None = None
    """Only what this session may find."""
    source: Literal["memory", "sessions"] | None = None
    """Only memory files, or only conversations."""
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 6


class IndexInput(Input):
    agent_id: Name | None = None
    force: bool = False
    """Index everything again, changed or not."""


class MemoryStatusAnswer(Done):
    agents: list[Json]


class MemoryFile(Shape):
    path: str
    bytes: int
    modified_at: int
    indexed: bool


class MemoryFilesAnswer(Done):
    agent_id: str
    files: list[MemoryFile]


class MemoryLinesAnswer(Done):
    agent_id: str
    path: str
    text: str
    first: int = Field(alias="from")
    total_lines: int


class MemoryResult(Shape):
    path: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    source: str
    citation: str


class MemorySearchAnswer(Done):
    agent_id: str
    results: list[MemoryResult]
    mode: str


class MemoryChecksAnswer(Done):
    agent_id: str
    checks: list[Json]
