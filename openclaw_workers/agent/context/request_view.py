"""The messages of one request, made from the log.

Order matters: the summary replaces compacted entries, call and result pairs are repaired, old results are pruned, and
what is still too large for the window is cut. Each step leaves a valid sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openclaw_workers.agent.context.compaction import Context
from openclaw_workers.agent.context.compaction_plan import is_due, limit_tokens, trigger_tokens
from openclaw_workers.agent.context.history import repair, visible
from openclaw_workers.agent.context.overflow import cut_results
from openclaw_workers.agent.context.pruning import prune
from openclaw_workers.agent.context.units import units
from openclaw_workers.config.context import CompactionSettings, ContextPruningSettings
from openclaw_workers.domain.transcript import TranscriptEntry


@dataclass(frozen=True, slots=True)
class RequestView:
    context: Context
    compaction: CompactionSettings
    pruning: ContextPruningSettings

    def messages(
        self, log: Sequence[TranscriptEntry], now_ms: int, *, truncates: bool = False
    ) -> list[TranscriptEntry]:
        """The messages to send; `truncates`: the API rejected the request, so tool results are cut to half of it."""
        return self.cut(self.pruned(log, now_ms), truncates=truncates)

    def cut(self, pruned: list[TranscriptEntry], *, truncates: bool = False) -> list[TranscriptEntry]:
        """The same for entries that are already pruned."""
        estimator, room = self.context.estimator, self.room
        if truncates:
            # The real window may be smaller than we know, so start from the size that was rejected.
            room = min(room, estimator.entries(pruned)) // 2
        return cut_results(pruned, room, self.context.window, estimator.entry, estimator.entries)

    @property
    def room(self) -> int:
        """How many tokens the messages of a request may take."""
        return max(0, limit_tokens(self.context.window, self.compaction) - self.context.frame_tokens)

    def used(self, messages: Sequence[TranscriptEntry]) -> int:
        """Tokens of a request with these messages."""
        return self.context.frame_tokens + self.context.estimator.entries(messages)

    def size(self, log: Sequence[TranscriptEntry], now_ms: int) -> int:
        """Tokens of a request with this log, pruned but not cut: cutting would hide that a compaction is due."""
        return self.used(self.pruned(log, now_ms))

    def old(self, log: Sequence[TranscriptEntry], now_ms: int) -> int:
        """The same without the newest message and its tool results, which no compaction can drop."""
        return self.used([entry for unit in units(self.pruned(log, now_ms))[:-1] for entry in unit])

    def must_compact(self, size: int) -> bool:
        """Whether to compact before the next call."""
        return is_due(size, self.context.window, self.compaction)

    def pruned(self, log: Sequence[TranscriptEntry], now_ms: int) -> list[TranscriptEntry]:
        """All that this log shows, old tool results shortened."""
        context = self.context
        return prune(
            repair(visible(log)),
            self.pruning,
            window=context.window,
            frame_tokens=context.frame_tokens,
            compact_above=trigger_tokens(context.window, self.compaction),
            estimate=context.estimator.entry,
            now_ms=now_ms,
            total=context.estimator.entries,
        )
