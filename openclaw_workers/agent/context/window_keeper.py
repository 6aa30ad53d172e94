"""Keeping a conversation within the model's window: what a turn does before each call, and when one was too large.

Compaction is journalled like any other step, so a worker that takes over finds it done or not begun. The memory flush
before it is a side conversation; of it only a notice enters the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TypeVar

import structlog

from openclaw_workers.agent.context import memory_flush
from openclaw_workers.agent.context.compaction import Nothing, compact
from openclaw_workers.agent.context.compaction_plan import has_grown, limit_tokens
from openclaw_workers.agent.context.history import fit, last_compaction
from openclaw_workers.agent.context.overflow import Recovery, Step, too_large
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, TranscriptEntry
from openclaw_workers.errors import ProviderError

log = structlog.get_logger(__name__)

Summarise = Callable[[list[TranscriptEntry], str], str]
Flush = Callable[[Sequence[TranscriptEntry]], Iterable[TranscriptEntry]]
"""Hold the side conversation on these messages, and go on with it if it has begun; what is added, as it comes."""
Record = Callable[[CompactionEntry | NoticeEntry], None]
"""Journal an entry."""

T = TypeVar("T")
_FUTILE = re.compile(r"Compaction achieved nothing at (\d+) tokens before the newest message in a window of (\d+)")


class SmallerWindow(Exception):
    """The model that would be asked now sees less than room was made for: it was not asked."""

    def __init__(self, view: RequestView) -> None:
        super().__init__()
        self.view = view


@dataclass
class WindowKeeper:
    """For one turn. Without a model that can summarise, the oldest messages simply go out of sight."""

    view: RequestView
    run_id: str
    tools: frozenset[str]
    zone: tzinfo
    summarise: Summarise
    flush: Flush
    record: Record
    recovery: Recovery = field(default_factory=Recovery)
    _futile_at: int = 0
    _shown: tuple[int, RequestView, list[TranscriptEntry]] | None = None

    def narrow(self, view: RequestView) -> None:
        """Go on with less room, for the rest of the turn."""
        log.info("context.narrowed", window=view.context.window)
        self.view, self._futile_at = view, 0  # that was with more room

    def make_room(self, history: Sequence[TranscriptEntry]) -> None:
        """Flush and compact if the next request would be too full; what is recorded joins the history."""
        size = self.view.used(self._pruned(history))
        settings = self.view.compaction
        if memory_flush.is_due(history, size, self.view.context.window, settings, tools=self.tools):
            self._flush(history)
            size = self.view.used(self._pruned(history))
        if self.view.must_compact(size) and self._has_grown(history, futile_at(history, self.view.context.window)):
            self._compact_if_it_can(history)

    def messages(self, history: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
        return self.view.cut(self._pruned(history), truncates=self.recovery.truncates)

    def _pruned(self, history: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
        """What the history shows. It only grows, so that what was shown at the same length is shown still."""
        if self._shown is None or self._shown[:2] != (len(history), self.view):
            self._shown = len(history), self.view, self.view.pruned(history, now_ms())
        return self._shown[2]

    def overflowed(self, history: Sequence[TranscriptEntry], error: ProviderError) -> None:
        """The API refused a request as too long: do the next thing about it.

        Raises:
            ProviderError: nothing is left to do.
        """
        step, self.recovery = self.recovery.overflowed(can_compact=self._has_grown(history))
        log.warning("context.overflow", step=step, error=error.message)
        if step is Step.COMPACT:
            if isinstance(self._compact(history, force=True), Nothing):
                self.overflowed(history, error)  # the same request would be refused again
        elif step is Step.GIVE_UP:
            raise too_large(self.view.size(history, now_ms()), self.view.context.window) from error

    def compact_now(self, history: Sequence[TranscriptEntry], focus: str) -> CompactionEntry | Nothing:
        """As a person asked for it."""
        return self._compact(history, force=True, focus=focus)

    def _has_grown(self, history: Sequence[TranscriptEntry], tried: int = 0) -> bool:
        """Whether a compaction may achieve something, as far as the last ones in vain tell."""
        return has_grown(self.view.old(history, now_ms()), max(self._futile_at, tried))

    def _compact_if_it_can(self, history: Sequence[TranscriptEntry]) -> None:
        """A conversation that still fits goes on as it is when nobody can sum it up."""
        try:
            self._compact(history)
        except ProviderError as error:
            limit = limit_tokens(self.view.context.window, self.view.compaction)
            if self.view.used(self.messages(history)) > limit:
                raise
            self._in_vain(history, Nothing("no summary"), error.message)

    def _compact(
        self, history: Sequence[TranscriptEntry], *, force: bool = False, focus: str = ""
    ) -> CompactionEntry | Nothing:
        done = self._as_narrow_as_needed(
            lambda: compact(
                history,
                self.view.compaction,
                self.view.context,
                self.summarise,
                now_ms=now_ms(),
                run_id=self.run_id,
                force=force,
                focus=focus,
            )
        )
        if isinstance(done, Nothing):
            self._in_vain(history, done)
        else:
            log.info("context.compacted", tokens_before=done.tokens_before, tokens_after=done.tokens_after)
            self.record(done)
        return done

    def _in_vain(self, history: Sequence[TranscriptEntry], done: Nothing, failure: str = "") -> None:
        self._futile_at = old = self.view.old(history, now_ms())
        log.info("context.not_compacted", reason=done.reason, tokens=old, error=failure)
        if done.reason != "nothing to drop":
            # It took calls to find out, which later turns should not make again.
            why = f"{done.reason} ({failure})" if failure else done.reason
            seen = f"{old} tokens before the newest message in a window of {self.view.context.window}"
            told = f"Compaction achieved nothing at {seen}: {why}"
            self.record(NoticeEntry(text=told, timestamp=now_ms(), run_id=self.run_id))

    def _flush(self, history: Sequence[TranscriptEntry]) -> None:
        settings = self.view.compaction.memory_flush
        asked, talk = memory_flush.request(settings, datetime.now(self.zone)), list[TranscriptEntry]()

        def ask() -> None:
            messages = [*self.messages(history), asked, *talk]
            for entry in self.flush(fit(messages, self.view.room, self.view.context.estimator.entry)):
                talk.append(entry)  # one by one: what was done stays done if the next call fails

        failure = ""
        try:
            self._as_narrow_as_needed(ask)
        except ProviderError as error:
            failure = error.message
        saved = memory_flush.written(talk)
        self.record(memory_flush.notice(saved, failure=failure, now_ms=now_ms(), run_id=self.run_id))

    def _as_narrow_as_needed(self, ask: Callable[[], T]) -> T:
        """Ask the model, and again from the start when one with a smaller window takes over meanwhile."""
        while True:
            try:
                return ask()
            except SmallerWindow as smaller:
                self.narrow(smaller.view)


def futile_at(log: Sequence[TranscriptEntry], window: int) -> int:
    """How much was old when a compaction for this window was last tried in vain since the latest that was not."""
    notices = (entry.text for entry in log[(last_compaction(log) or 0) :] if isinstance(entry, NoticeEntry))
    found = filter(None, map(_FUTILE.match, notices))
    return max((int(each[1]) for each in found if int(each[2]) == window), default=0)
