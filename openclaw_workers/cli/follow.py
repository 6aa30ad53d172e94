"""Following one message, or one run, to its end, whatever dies on the way.

Events are only for the eye: they may be missed, cut off or repeated by the next attempt. How it ended is read from the
message's receipt and the run's record, which alone are final: when an event says so, on a gap, and after silence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from openclaw_workers.cli.output import WaitOver
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.errors import NotFound, StoreUnavailable

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import MessageId, SessionKey
    from openclaw_workers.domain.runs import Lane, Run
    from openclaw_workers.engine.stores import Stores
    from openclaw_workers.store.inbox import Receipt
    from openclaw_workers.store.reader import Event

SILENCE_SECONDS = 2.0
"""After this long without an event the record is read again."""
PATIENCE_SECONDS = 3.0
"""After this long without a worker the person is told why."""
AWAY_SECONDS = 0.5
"""Between two tries while Redis is away."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the person should know while waiting."""

    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Events were missed: what was streamed so far may lack a piece."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing happened for a moment; whoever waits may look after other things."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `receipt` is None when a run was followed, `run` when the message never got one."""

    run: Run | None
    receipt: Receipt | None


Update: TypeAlias = "Event | Note | Gap | Quiet | Ended"


class Follower:
    """Iterating gives updates; the last one is `Ended`.

    Raises:
        WaitOver: the time is up and the run goes on.
        NotFound: neither receipt nor run is known, so there is nothing to wait for.
    """

    def __init__(
        self,
        stores: Stores,
        session: SessionKey,
        *,
        message: MessageId | None = None,
        run: RunId | None = None,
        after: str = "0",
        seconds: float | None = None,
        block_ms: int = 2000,
        with_children: bool = False,
    ) -> None:
        """`with_children`: what sub-agents do is passed on before the run has begun, too."""
        self.session = session
        self.run = run
        """As far as known: while a message waits, the run it may get."""
        self._stores = stores
        self._message = message
        self._after = after
        self._from_beginning = after == "0"
        self._with_children = with_children
        self._children: set[str] = set()
        """Runs that ours has spawned."""
        self._block_ms = min(block_ms, int(stores.settings.engine.accept_timeout_seconds * 800))
        now = time.monotonic()
        self._deadline = None if seconds is None else now + seconds
        self._heard_at = now
        self._idle_since: float | None = now
        """Since when no worker has it; None while one has, or after the person was told."""
        self._ours = message is None
        self._last_seq: int | None = None
        self._is_away = False

    @property
    def after(self) -> str:
        """How far the session's events have been read."""
        return self._after

    def __iter__(self) -> Iterator[Update]:
        # What lies in the past, such as a repeated message, may have ended long ago.
        if self._after == "0" and (ended := self._ended_already()):
            yield ended
            return
        while True:
            self._check_time()
            try:
                events = self._stores.reader.events(self.session, self._after, block_ms=self._block())
                if self._is_away:
                    self._is_away = False
                    yield Note("Redis is back")
                for event in events:
                    yield from self._seen(event)
                ended = self._judge(events)
                note = None if ended else self._why_waiting()
            except StoreUnavailable as error:
                yield from self._away(error)
                continue
            if note:
                yield note
            if ended:
                yield ended
                return
            yield Quiet()

    def _block(self) -> int:
        if self._deadline is None:
            return self._block_ms
        left_ms = int((self._deadline - time.monotonic()) * 1000)
        return max(1, min(self._block_ms, left_ms))

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise WaitOver(
                f"no answer within the given time; {self.run or 'the message'} goes on in {self.session}",
                hint=f"`ocw runs watch {self.run}` waits on" if self.run else "`ocw runs list` shows its run",
            )

    def _away(self, error: StoreUnavailable) -> Iterator[Note]:
        if not self._is_away:
            self._is_away = True
            yield Note(f"{error.message}; still trying, nothing is lost")
        time.sleep(AWAY_SECONDS)

    def _ended_already(self) -> Ended | None:
        try:
            return self._look()
        except StoreUnavailable:
            return None

    def _seen(self, event: Event) -> Iterator[Update]:
        """Pass on what concerns us."""
        self._after = event.id
        if self._last_seq is not None and event.seq != self._last_seq + 1:
            self._heard_at = 0.0
            yield Gap()
        self._last_seq = event.seq
        if not self._concerns_us(event):
            return
        if event.type == "run.started":
            self._idle_since = None
        elif event.type in ("run.lost", "run.released"):
            self._idle_since = time.monotonic()
        yield event

    def _concerns_us(self, event: Event) -> bool:
        data = event.data
        if not self._ours and self._message in (data.get("covers") or ()):
            self.run, self._ours = RunId(data["run"]), True
        elif not self._ours and self._message in (data.get("messages") or ()):
            # A message of mode steer-backlog is shown to a run that does not answer it: the receipt decides.
            self._look()
        if event.type.startswith("subagent."):
            return (self._ours or self._with_children) and self._is_of_our_tree(data)
        return self._ours and data.get("run") == self.run

    def _is_of_our_tree(self, data: dict[str, Any]) -> bool:
        """Whoever looks back at one run sees what it spawned; whoever has just spoken sees all that happens since."""
        if self.run and data.get("parentRun") == self.run:
            self._children.add(str(data["run"]))
        named = {data.get("run"), *(each.get("run") for each in data.get("runs") or ())}
        return not self._from_beginning or not self._children.isdisjoint(named)

    def _judge(self, events: list[Event]) -> Ended | None:
        now = time.monotonic()
        is_over = any(event.type == "run.ended" for event in events)
        if is_over or now - self._heard_at >= SILENCE_SECONDS:
            self._heard_at = now
            return self._look()
        if events:
            self._heard_at = now
        return None

    def _look(self) -> Ended | None:
        """Read what is final, if anything is."""
        receipt = None
        if self._message is not None:
            receipt = self._stores.inbox.receipt(self.session, self._message)
            if receipt is None:
                raise NotFound(f"message {self._message} is not known in {self.session}")
            if receipt.run:
                self.run, self._ours = receipt.run, True
            if receipt.state in (MessageState.ACCEPTED, MessageState.BOUND):
                return None
            if receipt.run is None:
                return Ended(None, receipt)
        assert self.run is not None
        run = self._stores.reader.run(self.run)
        if run is None:
            raise NotFound(f"run {self.run} is not known", hint="records are kept for seven days")
        return Ended(run, receipt) if run.state.is_final else None

    def _why_waiting(self) -> Note | None:
        if self._idle_since is None or time.monotonic() - self._idle_since < PATIENCE_SECONDS:
            return None
        self._idle_since = None
        from openclaw_workers.engine.wake import lane_of

        lane = lane_of(self.session)
        if not has_worker(self._stores, lane):
            return Note(f"no worker is running for lane {lane}; start one with `ocw up`")
        control = self._stores.reader.control(self.session)
        if control.state == "idle":
            return None
        if control.run != self.run:
            return Note(f"the session is busy with {control.run}; the message waits")
        return Note(f"waiting for a free worker on lane {lane}") if control.state == "queued" else None


def has_worker(stores: Stores, lane: Lane) -> bool:
    return any(info.alive and lane in info.facts.get("lane", "").split(",") for info in stores.workers.all())
