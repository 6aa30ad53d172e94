"""Everything that happens in a session from now on, whoever asked for it. The turn that runs is shown from its start.

Events are for display only, as for a single message: that a turn has ended is read from its record.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from openclaw_workers.client.deadline import Monotonic
from openclaw_workers.client.follow_message import (
    BLOCK_MS,
    PATIENCE_SECONDS,
    RETRY_SECONDS,
    SILENCE_SECONDS,
    why_waiting,
)
from openclaw_workers.client.protocol import (
    Ended,
    Gap,
    Note,
    Quiet,
    ReadEvents,
    ReadLastEventId,
    ReadReceipt,
    ReadRun,
    ReadState,
    Sleep,
    Steps,
    TurnStarted,
    ask,
)
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.errors import NotFound, StoreUnavailable

OF_SESSION = ("subagent.", "question.", "session.")
"""Beginnings of the types of events that belong to no turn."""


class SessionFeed:
    """Follows a session without end. `sending` and `not_sent` may be called from another thread."""

    def __init__(self, session: SessionKey, *, block_ms: int = BLOCK_MS, clock: Monotonic = time.monotonic) -> None:
        self.session = session
        self.run: RunId | None = None
        """The turn that runs, or waits for a worker."""
        self._block_ms = block_ms
        self._clock = clock
        self._after = "0"
        self._shown_from: tuple[int, ...] = (0,)
        """Of older events, only those of the turn that runs are shown."""
        self._is_begun = False
        """Something of the turn that ran at first was shown."""
        self._own: set[MessageId] = set()
        """Messages sent from here whose outcome is not shown yet."""
        self._last_seq: int | None = None
        self._heard_at = clock()
        self._idle_since: float | None = None
        """Since when a turn or a message waits for a worker; None if none does, or after a note was given."""
        self._is_redis_away = False

    @property
    def is_awaited(self) -> bool:
        """A turn runs or waits, or a message sent from here is not answered yet."""
        return self.run is not None or bool(self._own)

    def sending(self, message: MessageId) -> None:
        """A message is being sent from here: its turn is our own, and if none answers it, that is reported too."""
        self._own.add(message)
        self._idle_since = self._clock()

    def not_sent(self, message: MessageId) -> None:
        self._own.discard(message)

    def steps(self) -> Steps[None]:
        """Report what happens. Each turn begins with `TurnStarted` and ends with `Ended`."""
        is_attached = False
        while True:
            try:
                if not is_attached:
                    yield from self._attach()
                    is_attached = True
                events = yield from ask(ReadEvents(self.session, self._after, self._block_ms))
                if self._is_redis_away:
                    self._is_redis_away = False
                    yield Note("Redis is back")
                for event in events:
                    yield from self._report(event)
                yield from self._look_at_records(events)
            except StoreUnavailable as error:
                if not self._is_redis_away:
                    self._is_redis_away = True
                    yield Note(f"{error.message}; still trying, nothing is lost")
                yield from ask(Sleep(RETRY_SECONDS))
            yield Quiet()

    def _attach(self) -> Steps[None]:
        try:
            last = yield from ask(ReadLastEventId(self.session))
            state = yield from ask(ReadState(self.session))
        except NotFound:
            return  # there is no such session yet
        self._shown_from = _place(last)
        if state.state == "idle" or not state.run:
            self._after = last
            return
        yield from self._begin(RunId(state.run), is_attached=True)
        if state.state == "queued":
            self._idle_since = self._clock()

    def _begin(self, run: RunId, covers: Sequence[str] = (), *, is_attached: bool = False) -> Steps[None]:
        """Report that a turn has started, or was found when the session was first looked at."""
        self.run = run
        record = yield from ask(ReadRun(run))
        covered = {*covers, *(record.covers if record else ())}
        # A copy, because another thread may add a message meanwhile.
        is_own = not covered.isdisjoint(list(self._own))
        yield TurnStarted(run, record, is_own=is_own, is_attached=is_attached)

    def _report(self, event: Event) -> Steps[None]:
        self._after = event.id
        self._heard_at = self._clock()
        if _place(event.id) <= self._shown_from:
            yield from self._replay(event)
            return
        if self._last_seq is not None and event.seq != self._last_seq + 1:
            self._heard_at = 0.0  # read the records at once
            yield Gap()
        self._last_seq = event.seq
        run = event.data.get("run")
        if event.type.startswith(OF_SESSION):
            yield event
        elif run and event.type.startswith(("run.", "text.", "tool.", "thinking.", "model.")):
            yield from self._report_turn(event, RunId(run))

    def _replay(self, event: Event) -> Steps[None]:
        """Show what the turn that runs did before; of its sub-agents, what is active is listed elsewhere."""
        self._last_seq = event.seq
        if event.data.get("run") != self.run or event.type.startswith(OF_SESSION) or event.type == "run.ended":
            return
        # The stream is capped: the beginning of a long turn may be gone.
        if not self._is_begun and event.type != "run.started":
            yield Gap()
        self._is_begun = True
        yield event

    def _report_turn(self, event: Event, run: RunId) -> Steps[None]:
        if run != self.run:
            yield from self._begin(run, event.data.get("covers") or ())
        if event.type == "run.ended":
            yield from self._end()
            return
        if event.type == "run.started":
            self._idle_since = None
        elif event.type in ("run.lost", "run.released"):
            self._idle_since = self._clock()
        yield event

    def _end(self) -> Steps[None]:
        """Report the outcome of the turn, if it has one."""
        assert self.run is not None, "only a turn ends"
        record = yield from ask(ReadRun(self.run))
        # The event of another attempt, or one that came before the record: the next look decides.
        if record is not None and not record.state.is_final:
            return
        self._own.difference_update(record.covers if record else ())
        self.run = None
        self._idle_since = self._clock() if self._own else None
        yield Ended(record, None)

    def _look_at_records(self, events: Sequence[Event]) -> Steps[None]:
        """After some silence, read what events may have left out."""
        has_ended = any(event.type in ("run.ended", "session.reset") for event in events)
        if not has_ended and self._clock() - self._heard_at < SILENCE_SECONDS:
            return
        self._heard_at = self._clock()
        if self.run is not None:
            yield from self._end()
        # A copy, because another thread may add a message meanwhile.
        for message in list(self._own):
            yield from self._look_at_message(message)
        if self._idle_since is not None and self._clock() - self._idle_since >= PATIENCE_SECONDS:
            self._idle_since = None
            if note := (yield from why_waiting(self.session, self.run)):
                yield note

    def _look_at_message(self, message: MessageId) -> Steps[None]:
        receipt = yield from ask(ReadReceipt(self.session, message))
        if receipt is None or receipt.state in (MessageState.ACCEPTED, MessageState.BOUND):
            return  # it is being sent, or waits
        self._own.discard(message)
        if receipt.run is None:
            yield Ended(None, receipt)


def _place(event_id: str) -> tuple[int, ...]:
    """An event id in the order of the stream."""
    # As text, 9-1 would come after 10-1.
    return tuple(int(part) for part in event_id.split("-"))
