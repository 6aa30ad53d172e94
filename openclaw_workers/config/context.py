"""How a conversation is kept inside the model's context window."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, model_validator

from openclaw_workers.config.base import Bytes, Duration, Names, Section


class MemoryFlushSettings(Section):
    enabled: StrictBool = True
    """Let the agent save important notes to its memory before old messages are summarised."""

    soft_threshold_tokens: StrictInt = Field(default=10_000, ge=0)
    """Tokens before the compaction trigger at which the flush runs."""

    force_flush_transcript_bytes: Bytes = 2 << 20
    """Transcript size that forces a flush, such as 2mb; 0 disables this."""

    prompt: str | None = None
    """What the agent is asked to do; unset: the built-in request."""

    system_prompt: str | None = None
    """Added to the system prompt of the flush turn."""


class CompactionSettings(Section):
    mode: Literal["default", "safeguard"] = "safeguard"
    """default keeps the latest keepRecentTokens; safeguard summarises the oldest parts down to maxHistoryShare."""

    reserve_tokens: StrictInt = Field(default=4096, ge=0)
    """Tokens kept free for the summary, which is no longer than this; at most an eighth of the window."""

    keep_recent_tokens: StrictInt = Field(default=100_000, ge=0)
    """Tokens of the latest messages that stay unchanged (mode default)."""

    max_history_share: StrictFloat = Field(default=0.5, ge=0.1, le=0.9)
    """Share of the window that history may fill (mode safeguard)."""

    reserve_tokens_floor: StrictInt = Field(default=2048, ge=0)
    """Tokens that are kept free even if reserveTokens, or an eighth of the window, is less; 0 sets no minimum."""

    identifier_policy: Literal["strict", "off", "custom"] = "strict"
    """Whether a summary must keep ids, hashes, addresses and file names exactly."""

    identifier_instructions: str | None = None
    """Instructions about identifiers for the summariser; required by policy custom and used only there."""

    memory_flush: MemoryFlushSettings = MemoryFlushSettings.model_construct()
    """The silent turn before compaction in which the agent saves notes."""

    @model_validator(mode="after")
    def _custom_has_instructions(self) -> Self:
        if self.identifier_policy == "custom" and not self.identifier_instructions:
            raise ValueError("expected identifierInstructions when identifierPolicy is custom")
        return self


class PruneToolsSettings(Section):
    allow: Names = ()
    """Tools whose results may be trimmed; empty means all."""

    deny: Names = ()
    """Tools whose results are never trimmed; wins over allow."""


class SoftTrimSettings(Section):
    max_chars: StrictInt = Field(default=5000, ge=0)
    """A result longer than this many characters is trimmed."""

    head_chars: StrictInt = Field(default=2000, ge=0)
    """Characters kept at its start."""

    tail_chars: StrictInt = Field(default=2000, ge=0)
    """Characters kept at its end."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.head_chars + self.tail_chars > self.max_chars:
            raise ValueError("expected headChars plus tailChars to be at most maxChars")
        return self


class HardClearSettings(Section):
    enabled: StrictBool = True
    """Replace whole results if trimming did not free enough."""

    placeholder: str = "[Tool result omitted due to context budget]"
    """What the model reads instead of a cleared result."""


class ContextPruningSettings(Section):
    mode: Literal["off", "cache-ttl"] = "cache-ttl"
    """cache-ttl trims tool results once they are old or a compaction would be due; off never trims."""

    ttl: Duration = timedelta(hours=1)
    """Age from which tool results are trimmed above softTrimRatio, such as 1h; younger ones only before compaction."""

    keep_last_assistants: StrictInt = Field(default=3, ge=0)
    """The tool results of this many latest assistant messages are never trimmed."""

    soft_trim_ratio: StrictFloat = Field(default=0.7, ge=0, le=1)
    """Results are trimmed once this share of the window is in use."""

    hard_clear_ratio: StrictFloat = Field(default=0.85, ge=0, le=1)
    """Results are cleared once this share of the window is in use."""

    min_prunable_tool_chars: StrictInt = Field(default=1000, ge=0)
    """Results with fewer characters are not trimmed."""

    tools: PruneToolsSettings = PruneToolsSettings.model_construct()
    """Which tools' results may be trimmed or cleared."""

    soft_trim: SoftTrimSettings = SoftTrimSettings.model_construct()
    """How a result is trimmed."""

    hard_clear: HardClearSettings = HardClearSettings.model_construct()
    """How a result is cleared."""

    @model_validator(mode="after")
    def _soft_before_hard(self) -> Self:
        if self.soft_trim_ratio > self.hard_clear_ratio:
            raise ValueError("expected softTrimRatio to be no more than hardClearRatio")
        return self
