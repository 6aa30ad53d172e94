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


class MmrSettings(Section):
    enabled: StrictBool = False
    """Prefer results that do not repeat each other."""

    relevance: StrictFloat = Field(default=0.7, ge=0, le=1, alias="lambda")
    """Weight of relevance against novelty; 1 counts relevance alone."""


class TemporalDecaySettings(Section):
    enabled: StrictBool = False
    """Let daily notes and messages count less as they age. MEMORY.md and undated files do not age."""

    half_life_days: StrictFloat = Field(default=30.0, gt=0)
    """Days after which a result counts half."""


class HybridSettings(Section):
    enabled: StrictBool = True
    """Search by words as well as by meaning; false: by meaning alone."""

    vector_weight: StrictFloat | None = Field(default=None, ge=0)
    """Weight of meaning; unset: the default of the embedder. The two weights are normalised to sum to one."""

    text_weight: StrictFloat | None = Field(default=None, ge=0)
    """Weight of words; unset: the default of the embedder."""

    candidate_multiplier: StrictInt | None = Field(default=None, ge=1, le=20)
    """Candidates considered per requested result; unset: 200 in all."""

    mmr: MmrSettings = MmrSettings.model_construct()
    """Fewer results that repeat each other."""

    temporal_decay: TemporalDecaySettings = TemporalDecaySettings.model_construct()
    """Newer results first."""


class QuerySettings(Section):
    max_results: StrictInt = Field(default=6, ge=1, le=100)
    """Results per search."""

    min_score: StrictFloat | None = Field(default=None, ge=0, le=1)
    """Results with a lower score are left out; unset: none are."""

    hybrid: HybridSettings = HybridSettings.model_construct()
    """How words and meaning are combined."""


class SyncSettings(Section):
    on_session_start: StrictBool = True
    """Look for changed files when a session starts."""

    on_search: StrictBool = True
    """Look for changed files before each search."""

    watch: StrictBool = True
    """Look for changed files every few seconds and index them."""

    watch_debounce_ms: StrictInt = Field(default=1500, ge=0)
    """Milliseconds of quiet before a changed file is indexed."""

    interval_minutes: StrictInt = Field(default=0, ge=0)
    """Minutes between two full scans; 0 disables them."""


class SessionSourceSettings(Section):
    groups: Names = ()
    """Groups whose transcripts are indexed, by session key or by their id in it; "*" means all."""

    subagents: StrictBool = False
    """Whether transcripts of sub-agents are indexed."""

    delta_bytes: StrictInt = Field(default=100_000, ge=1)
    """Bytes of new messages after which a transcript is indexed again."""

    delta_messages: StrictInt = Field(default=50, ge=1)
    """New messages after which a transcript is indexed again."""


class CacheSettings(Section):
    enabled: StrictBool = True
    """Keep embeddings of an endpoint in Redis, so that no text is embedded twice."""

    max_entries: StrictInt = Field(default=10_000, ge=1)
    """Embeddings kept; those that were not used for longest are dropped."""


class MemorySearchSettings(Section):
    enabled: StrictBool = True
    """Whether memory is indexed and the memory tools are offered."""

    sources: tuple[Literal["memory", "sessions"], ...] = ("memory", "sessions")
    """memory: the workspace's Markdown files; sessions: transcripts."""

    extra_paths: Names = ()
    """More Markdown files or directories to index."""

    provider: str = "auto"
    """What embeds texts: offline, none (search by words alone), or a provider of models.providers with an
    OpenAI-compatible endpoint. auto: the provider in `model` if it names one, else offline."""

    model: str | None = None
    """Embedding model, as model or provider/model; unset: text-embedding-3-small for an endpoint."""

    chunking: ChunkingSettings = ChunkingSettings.model_construct()
    """How files are split into chunks."""

    query: QuerySettings = QuerySettings.model_construct()
    """How the index is searched."""

    sync: SyncSettings = SyncSettings.model_construct()
    """When the index is updated from the files."""

    sessions: SessionSourceSettings = SessionSourceSettings.model_construct()
    """Which transcripts are indexed besides those of direct chats, and when."""

    cache: CacheSettings = CacheSettings.model_construct()
    """The cache of embeddings."""


class MemorySettings(Section):
    citations: Literal["auto", "on", "off"] = "auto"
    """Whether answers name file and line; auto: only in direct chats."""

    in_group_prompts: StrictBool = False
    """Put MEMORY.md and USER.md into the prompts of groups too, not only of direct chats."""

    session_notes: StrictBool = True
    """Save the end of a direct conversation to memory/ when it is reset."""
