"""A turn's journal in Redis: fenced by its lease, retried safely when Redis fails, with streamed text coalesced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from openclaw_workers.agent.model.asker import CallNote
from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.turn.received_files import Receive
from openclaw_workers.engine.worker.state import RunHandle, WorkerState
from openclaw_workers.errors import CorruptRecord, LeaseLost, StoreUnavailable, TurnAborted, TurnHandedOver
from openclaw_workers.redaction import StreamMask
from openclaw_workers.store.turns import Turns

log = structlog.get_logger(__name__)

COALESCE_SECONDS = 0.08
"""One event per token would cost more than the turn itself."""

GIVEN_UP_SECONDS = 1.0
"""Retries stop this long before the grace ends: other workers continue the turn, and the process exits cleanly."""

GROWING = ("text.delta", "thinking.delta")
"""Events whose text continues that of the event before."""

T = TypeVar("T")


def persist(write: Callable[[], T], process: WorkerState) -> T:
    """Repeat a write until Redis has taken it; every script answers a repeat as it answered first (rule 13).

    Raises:
        StoreUnavailable: Redis is still away and this process must leave.
        LeaseLost: Redis came back, and another worker had taken over.
    """
    pause = 0.1
    while True:
        try:
            return write()
        except StoreUnavailable as error:
            left = process.shutdown.grace_left() - GIVEN_UP_SECONDS
            if left <= 0:
                raise
            log.warning("store.unavailable", error=error.message, retry_seconds=pause)
            time.sleep(min(pause, left))
            pause = min(pause * 2, 2.0)


class RedisJournal:
    """Implements agent.loop.Journal for one run."""

    def __init__(
        self,
        turns: Turns,
        handle: RunHandle,
        process: WorkerState,
        call_log: CallLog,
        *,
        step: int,
        receive: Receive = lambda entries: None,
    ) -> None:
        """`receive` writes the files of messages that join the turn."""
        self._turns = turns
        self._receive = receive
        self._handle = handle
        self._process = process
        self._step = step
        self._lock = threading.Lock()
        # Held from when events are taken until Redis has them: what comes later must not overtake them.
        self._sending = threading.Lock()
        self._buffer: list[dict[str, Any]] = []
        self._masks = {kind: StreamMask() for kind in GROWING}
        self._gathering_since = 0.0
        self._call_log = call_log

    def record(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        worked: float = 0.0,
    ) -> list[UserEntry]:
        # Read once: it may change while the step is written, and all parts of the step must agree.
        leaving = self._process.shutdown.hands_over
        number, calls = self._step + 1, self._call_log.unrecorded()
        with self._lock:
            self._end_texts()
        with self._sending:
            events = self._taken()
            abort, steered = persist(
                lambda: self._turns.step(
                    self._handle.lease,
                    number,
                    entries,
                    # A call marked as started is never run again, so a worker that is leaving starts none.
                    starting="" if leaving else starting,
                    may_steer=may_steer and not leaving,
                    worked=worked,
                    events=events,
                    calls=calls,
                ),
                self._process,
            )
        self._call_log.recorded(calls)
        self._step = number
        # The next step may be a model call, which is limited by the time of the turn alone.
        self._handle.allow(self._handle.seconds_left())
        # After the write: whatever ends the turn, what was done is recorded first.
        if abort:
            raise TurnAborted(abort)
        self._handle.cancel.check()
        if leaving:
            raise TurnHandedOver("this worker is leaving")
        joined = [UserEntry.model_validate(entry) for entry in steered]
        if joined:
            # Before the model reads of the files.
            persist(lambda: self._receive(joined), self._process)
        return joined

    def text(self, delta: str) -> None:
        self.show("text.delta", {"text": delta})

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            if kind in GROWING:
                self._grow(kind, self._masks[kind].feed(data["text"]))
            else:
                self._end_texts()
                self._add(kind, data)
        if kind == "model.retried":
            self.flush()  # else the answer that follows within the window would hide it
        self.flush_if_old()

    def note(self, call: CallNote) -> None:
        self._call_log.note(call)
        if not call.recorded:
            self.record_calls()

    def record_calls(self) -> None:
        """Write calls to the ledger that no step records: they would be lost with this process."""
        calls = self._call_log.unrecorded()
        try:
            self._turns.record_calls(self._handle.lease, calls)
        except StoreUnavailable as error:
            # The next step records them.
            log.warning("calls.record_failed", count=len(calls.calls), error=error.message)
        else:
            self._call_log.recorded(calls)

    def allow(self, seconds: float) -> None:
        # A tool starts now and may be slow: what was said and done so far should be on screen meanwhile.
        self._handle.allow(seconds)
        self.flush()

    def flush(self) -> None:
        """Send what has gathered. Viewers may miss it; the run does not depend on it."""
        with self._lock:
            self._end_texts()
        with self._sending:
            self._send()

    def flush_if_old(self) -> None:
        """An answer that is complete within the window is shown by its commit alone; the ticker flushes when it stalls.

        Whoever finds another thread sending leaves it to the next call: the ticker must not wait.
        """
        is_old = self._buffer and time.monotonic() - self._gathering_since > COALESCE_SECONDS
        if is_old and self._sending.acquire(blocking=False):
            try:
                self._send()
            finally:
                self._sending.release()

    def _send(self) -> None:
        events = self._taken()
        if not events:
            return
        try:
            self._turns.emit(self._handle.lease, events)
        except LeaseLost as error:
            # Not raised: the ticker calls this too, and the thread of the turn must find out.
            self._handle.cancel.set(error)
        except (StoreUnavailable, CorruptRecord) as error:
            log.warning("events.dropped", count=len(events), error=error.message)

    def _taken(self) -> list[dict[str, Any]]:
        with self._lock:
            # A new list: the old one is being sent while other threads go on adding.
            events, self._buffer = self._buffer, []
            return events

    def _grow(self, kind: str, text: str) -> None:
        last = self._buffer[-1] if self._buffer else None
        if last is not None and last["type"] == kind:
            last["data"]["text"] += text
        elif text:
            self._add(kind, {"text": text})

    def _end_texts(self) -> None:
        """Show what was held back because a secret might have begun there."""
        for kind, mask in self._masks.items():
            self._grow(kind, mask.rest())

    def _add(self, kind: str, data: Mapping[str, Any]) -> None:
        if not self._buffer:
            self._gathering_since = time.monotonic()
        self._buffer.append({"type": kind, "data": {"run": self._handle.lease.run, **data}})
