"""Keep a conversation inside the model's window: before each call, and after a request was too large.

Compaction is journalled like any other step, so a worker that takes over finds it either done or not started. The
memory flush before it is a side conversation; only a notice of it enters the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TypeVar

import structlog

from openclaw_workers.agent.context import memory_flush
from openclaw_workers.agent.context.compaction import NotCompacted, compact
from openclaw_workers.agent.context.compaction_plan import has_grown, limit_tokens
from openclaw_workers.agent.context.history import fit, last_compaction
from openclaw_workers.agent.context.overflow import Recovery, Step, too_large
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, TranscriptEntry
from openclaw_workers.errors import ProviderError
from openclaw_workers.hooks import Hooks

log = structlog.get_logger(__name__)

Summarise = Callable[[list[TranscriptEntry], str], str]
Flush = Callable[[Sequence[TranscriptEntry]], Iterable[TranscriptEntry]]
"""Run the side conversation on these messages, or continue it; yield each entry that it adds."""
Record = Callable[[CompactionEntry | NoticeEntry], None]
"""Journal an entry."""

T = TypeVar("T")
# Reads back what `_note_futile` writes: only the transcript is known to later turns and other workers.
_FUTILE = re.compile(r"Compaction achieved nothing at (\d+) tokens before the newest message in a window of (\d+)")


class SmallerWindow(Exception):
    """The next model has a smaller window than the conversation was fitted to; it was not called."""

    def __init__(self, view: RequestView) -> None:
        super().__init__()
        self.view = view


@dataclass
class WindowKeeper:
    """Keeps the conversation of one turn inside the window."""

    view: RequestView
    run_id: str
    tools: frozenset[str]
    zone: tzinfo
    summarise: Summarise
    flush: Flush
    record: Record
    hooks: Hooks | None = None
    session_key: str = ""
    recovery: Recovery = field(default_factory=Recovery)
    _futile_at: int = 0
    _shown: tuple[int, RequestView, list[TranscriptEntry]] | None = None

    def narrow(self, view: RequestView) -> None:
        """Continue with a smaller window for the rest of the turn."""
        log.info("context.narrowed", window=view.context.window)
        self.view, self._futile_at = view, 0  # the futile attempt was for the larger window

    def make_room(self, history: Sequence[TranscriptEntry]) -> None:
        """Flush and compact if the next request would be too large; recorded entries are added to the history."""
        size = self.view.used(self._pruned(history))
        settings = self.view.compaction
        if memory_flush.is_due(history, size, self.view.context.window, settings, tools=self.tools):
            self._flush(history)
            # The flush may have met a model with a smaller window, which changes the view.
            size = self.view.used(self._pruned(history))
        if self.view.must_compact(size) and self._has_grown(history, futile_at(history, self.view.context.window)):
            self._try_to_compact(history)

    def messages(self, history: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
        return self.view.cut(self._pruned(history), truncates=self.recovery.truncates)

    def _pruned(self, history: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
        """What the history shows. It only grows, so that what was shown at the same length is shown still."""
        if self._shown is None or self._shown[:2] != (len(history), self.view):
            self._shown = len(history), self.view, self.view.pruned(history, now_ms())
        return self._shown[2]

    def overflowed(self, history: Sequence[TranscriptEntry], error: ProviderError) -> None:
        """Take the next recovery step after the API rejected a request as too long.

        Raises:
            ProviderError: no step is left.
        """
        step, self.recovery = self.recovery.overflowed(can_compact=self._has_grown(history))
        log.warning("context.overflow", step=step, error=error.message)
        if step is Step.COMPACT:
            if isinstance(self._compact(history, force=True), NotCompacted):
                self.overflowed(history, error)  # the same request would be rejected again
        elif step is Step.GIVE_UP:
            raise too_large(self.view.size(history, now_ms()), self.view.context.window) from error

    def compact_now(self, history: Sequence[TranscriptEntry], focus: str) -> CompactionEntry | NotCompacted:
        """Compact because a person asked for it."""
        return self._compact(history, force=True, focus=focus)

    def _has_grown(self, history: Sequence[TranscriptEntry], tried: int = 0) -> bool:
        """Whether the conversation has grown enough since the last futile compaction to try again."""
        return has_grown(self.view.old(history, now_ms()), max(self._futile_at, tried))

    def _try_to_compact(self, history: Sequence[TranscriptEntry]) -> None:
        """Compact; if no model can summarise, continue unchanged as long as the conversation still fits."""
        try:
            self._compact(history)
        except ProviderError as error:
            # A compaction is due before the window is full, so the turn can often go on without one.
            limit = limit_tokens(self.view.context.window, self.view.compaction)
            if self.view.used(self.messages(history)) > limit:
                raise
            self._note_futile(history, NotCompacted("no summary"), error.message)

    def _compact(
        self, history: Sequence[TranscriptEntry], *, force: bool = False, focus: str = ""
    ) -> CompactionEntry | NotCompacted:
        blocked = self._blocked(history)
        if blocked:
            log.info("context.compaction_blocked", reason=blocked)
            return NotCompacted("a plugin blocked it")
        done = self._retry_in_smaller_window(
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
        if isinstance(done, NotCompacted):
            self._note_futile(history, done)
        else:
            log.info("context.compacted", tokens_before=done.tokens_before, tokens_after=done.tokens_after)
            self.record(done)
            if self.hooks is not None:
                sizes = {"tokensBefore": done.tokens_before, "tokensAfter": done.tokens_after}
                self.hooks.fire("after_compaction", {**self._about(), **sizes, "summary": done.summary})
        return done

    def _about(self) -> dict[str, object]:
        return {"sessionKey": self.session_key, "runId": self.run_id}

    def _blocked(self, history: Sequence[TranscriptEntry]) -> str:
        """Why plugins do not let the conversation be compacted; empty if they do."""
        if self.hooks is None or not self.hooks.is_used("before_compaction"):
            return ""
        tokens = self.view.used(self._pruned(history))
        return self.hooks.ask("before_compaction", {**self._about(), "tokens": tokens}).blocked

    def _note_futile(self, history: Sequence[TranscriptEntry], done: NotCompacted, failure: str = "") -> None:
        self._futile_at = old = self.view.old(history, now_ms())
        log.info("context.not_compacted", reason=done.reason, tokens=old, error=failure)
        if done.reason != "nothing to drop":
            # Finding this out took model calls, which later turns should not repeat.
            why = f"{done.reason} ({failure})" if failure else done.reason
            seen = f"{old} tokens before the newest message in a window of {self.view.context.window}"
            text = f"Compaction achieved nothing at {seen}: {why}"
            self.record(NoticeEntry(text=text, timestamp=now_ms(), run_id=self.run_id))

    def _flush(self, history: Sequence[TranscriptEntry]) -> None:
        settings = self.view.compaction.memory_flush
        asked, talk = memory_flush.request(settings, datetime.now(self.zone)), list[TranscriptEntry]()

        def ask() -> None:
            messages = [*self.messages(history), asked, *talk]
            for entry in self.flush(fit(messages, self.view.room, self.view.context.estimator.entry)):
                talk.append(entry)  # one by one: completed steps are kept if the next call fails

        failure = ""
        try:
            self._retry_in_smaller_window(ask)
        except ProviderError as error:
            # The turn goes on without notes. The notice below marks the cycle as flushed, or each call would retry.
            failure = error.message
        saved = memory_flush.written_files(talk)
        self.record(memory_flush.notice(saved, failure=failure, now_ms=now_ms(), run_id=self.run_id))

    def _retry_in_smaller_window(self, ask: Callable[[], T]) -> T:
        """Run `ask`; start it again whenever the next model has a smaller window."""
        while True:
            try:
                return ask()
            except SmallerWindow as smaller:
                self.narrow(smaller.view)


def futile_at(log: Sequence[TranscriptEntry], window: int) -> int:
    """The old tokens at the last futile compaction for this window since the latest successful one."""
    notices = (entry.text for entry in log[(last_compaction(log) or 0) :] if isinstance(entry, NoticeEntry))
    found = filter(None, map(_FUTILE.match, notices))
    return max((int(each[1]) for each in found if int(each[2]) == window), default=0)
