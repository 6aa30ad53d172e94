"""An agent's memory: what is indexed and how it is searched."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, model_validator

from openclaw_workers.config.base import Names, Section


class ChunkingSettings(Section):
    tokens: StrictInt = Field(default=400, ge=1)
    """Tokens per indexed chunk."""

    overlap: StrictInt = Field(default=80, ge=0)
    """Tokens that two neighbouring chunks share."""

    @model_validator(mode="after")
    def _overlap_fits(self) -> Self:
        if self.overlap >= self.tokens:
            raise ValueError("expected overlap to be less than tokens")
        return self


class HybridSettings(Section):
    enabled: StrictBool = True
    """Search by words as well as by meaning."""

    vector_weight: StrictFloat = Field(default=0.7, ge=0)
    """Weight of meaning; the two weights are normalised to sum to one."""

    text_weight: StrictFloat = Field(default=0.3, ge=0)
    """Weight of words."""

    candidate_multiplier: StrictInt = Field(default=4, ge=1, le=20)
    """Candidates considered per requested result."""


class QuerySettings(Section):
    max_results: StrictInt = Field(default=6, ge=1)
    """Results per search."""

    min_score: StrictFloat = Field(default=0.35, ge=0, le=1)
    """Results with a lower score are left out."""

    hybrid: HybridSettings = HybridSettings()
    """How words and meaning are combined."""


class SyncSettings(Section):
    on_session_start: StrictBool = True
    """Look for changed files when a session starts."""

    on_search: StrictBool = True
    """Look for changed files before each search."""

    watch: StrictBool = True
    """Watch the files and index changes as they happen."""

    watch_debounce_ms: StrictInt = Field(default=1500, ge=0)
    """Milliseconds of quiet before a changed file is indexed."""

    interval_minutes: StrictInt = Field(default=0, ge=0)
    """Minutes between two full scans; 0 disables them."""


class MemorySearchSettings(Section):
    enabled: StrictBool = True
    """Whether memory is indexed and the memory tools are offered."""

    sources: tuple[Literal["memory", "sessions"], ...] = ("memory", "sessions")
    """memory: the workspace's Markdown files; sessions: transcripts of main sessions."""

    extra_paths: Names = ()
    """More Markdown files or directories to index."""

    provider: str = "auto"
    """Embedding provider; auto takes the first with a key, else the offline one."""

    model: str | None = None
    """Embedding model; unset: the provider's default."""

    chunking: ChunkingSettings = ChunkingSettings()
    """How files are split into chunks."""

    query: QuerySettings = QuerySettings()
    """How the index is searched."""

    sync: SyncSettings = SyncSettings()
    """When the index is updated from the files."""


class MemorySettings(Section):
    citations: Literal["auto", "on", "off"] = "auto"
    """Whether answers name file and line; auto: only in direct chats. Not in effect yet."""
