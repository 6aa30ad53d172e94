"""One message, or one run, followed to its end, even if workers or Redis fail on the way.

Events are for display only. Some may be missed, cut off, or repeated by the next attempt. The outcome comes from the
message's receipt and the run's record. They are read when an event announces the end, after a gap, and after silence.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from openclaw_workers.client.deadline import Deadline, Monotonic, WaitOver
from openclaw_workers.client.protocol import (
    Ended,
    Gap,
    Note,
    Quiet,
    ReadEvents,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Sleep,
    Steps,
    ask,
)
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Lane, lane_of, queue_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.errors import NotFound, StoreUnavailable

BLOCK_MS = 2000
"""How long one read waits for events."""
SILENCE_SECONDS = 2.0
"""After this long without an event the records are read again."""
PATIENCE_SECONDS = 3.0
"""After this long without a worker a note says why."""
RETRY_SECONDS = 0.5
"""Between two reads while Redis does not answer."""


class Conversation:
    """Follows one message, or one run. It keeps its state, so `steps` may be called again after an interrupt."""

    def __init__(
        self,
        session: SessionKey,
        *,
        message: MessageId | None = None,
        run: RunId | None = None,
        after: str = "0",
        deadline: Deadline | None = None,
        block_ms: int = BLOCK_MS,
        with_children: bool = False,
        clock: Monotonic = time.monotonic,
    ) -> None:
        """`with_children`: also report what sub-agents do before the run has started."""
        self.session = session
        self.run = run
        """As far as known: while a message waits, the run that may take it."""
        self.after = after
        """The last event that was read."""
        self._message = message
        self._from_beginning = after == "0"
        self._with_children = with_children
        self._children: set[str] = set()
        """Runs that ours has spawned."""
        self._block_ms = block_ms
        self._deadline = deadline or Deadline()
        self._clock = clock
        self._heard_at = clock()
        self._idle_since: float | None = self._heard_at
        """Since when no worker has it; None while one has it, or after a note was given."""
        self._is_run_certain = message is None
        self._last_seq: int | None = None
        self._is_redis_away = False

    def steps(self) -> Steps[Ended]:
        """Report what happens; the last update is `Ended`, which is also returned.

        Raises:
            WaitOver: the time is up and the run continues.
            NotFound: neither receipt nor run is known, so there is nothing to wait for.
        """
        ended = yield from self.outcome()
        yield ended
        return ended

    def outcome(self) -> Steps[Ended]:
        """The same without the last update."""
        # A message that was sent before may have been answered long ago.
        if self.after == "0" and (ended := (yield from self._ended_already())):
            return ended
        while True:
            self._check_time()
            try:
                ended, note = yield from self._read_events()
            except StoreUnavailable as error:
                yield from self._wait_for_redis(error)
                continue
            if note:
                yield note
            if ended:
                return ended
            yield Quiet()

    def _read_events(self) -> Steps[tuple[Ended | None, Note | None]]:
        events = yield from ask(ReadEvents(self.session, self.after, self._deadline.block_ms(self._block_ms)))
        if self._is_redis_away:
            self._is_redis_away = False
            yield Note("Redis is back")
        for event in events:
            yield from self._report(event)
        if ended := (yield from self._ended_after(events)):
            return ended, None
        return None, (yield from self._why_waiting())

    def _check_time(self) -> None:
        if self._deadline.is_over:
            raise WaitOver(
                f"no answer within the given time; {self.run or 'the message'} continues in {self.session}",
                hint=f"`ocw runs watch {self.run}` waits for it" if self.run else "`ocw runs list` shows its run",
            )

    def _wait_for_redis(self, error: StoreUnavailable) -> Steps[None]:
        if not self._is_redis_away:
            self._is_redis_away = True
            yield Note(f"{error.message}; still trying, nothing is lost")
        yield from ask(Sleep(RETRY_SECONDS))

    def _ended_already(self) -> Steps[Ended | None]:
        try:
            return (yield from self._read_records())
        except StoreUnavailable:
            return None

    def _report(self, event: Event) -> Steps[None]:
        """Pass an event on if it belongs to this conversation."""
        self.after = event.id
        # Rule 20: only the records are final, so a gap is a reason to read them.
        if self._last_seq is not None and event.seq != self._last_seq + 1:
            self._heard_at = 0.0  # read the records at once
            yield Gap()
        self._last_seq = event.seq
        if not (yield from self._is_ours(event)):
            return
        if event.type == "run.started":
            self._idle_since = None
        elif event.type in ("run.lost", "run.released"):
            self._idle_since = self._clock()
        # No worker sees its files. The event itself says so, and a second note would repeat it.
        elif event.type == "run.waiting":
            self._idle_since = None
        yield event

    def _is_ours(self, event: Event) -> Steps[bool]:
        data = event.data
        if not self._is_run_certain and self._message in (data.get("covers") or ()):
            self.run = RunId(data["run"])
            self._is_run_certain = True
        elif not self._is_run_certain and self._message in (data.get("messages") or ()):
            # In mode steer-backlog a run reads the message without answering it: the receipt names the run that does.
            yield from self._read_records()
        if event.type.startswith("subagent."):
            # Before its run is known, a message cannot tell its own sub-agents from those of other turns.
            return (self._is_run_certain or self._with_children) and self._is_of_our_tree(data)
        return self._is_run_certain and data.get("run") == self.run

    def _is_of_our_tree(self, data: dict[str, Any]) -> bool:
        """Read from the beginning, only what this run spawned counts; otherwise everything since the message."""
        if self.run and data.get("parentRun") == self.run:
            self._children.add(str(data["run"]))
        named = {data.get("run"), *(each.get("run") for each in data.get("runs") or ())}
        return not self._from_beginning or not self._children.isdisjoint(named)

    def _ended_after(self, events: list[Event]) -> Steps[Ended | None]:
        now = self._clock()
        has_ended = any(event.type == "run.ended" for event in events)
        # The final event may be the one that was lost, so silence is a reason to look too.
        if has_ended or now - self._heard_at >= SILENCE_SECONDS:
            self._heard_at = now
            return (yield from self._read_records())
        if events:
            self._heard_at = now
        return None

    def _read_records(self) -> Steps[Ended | None]:
        """The outcome, if the records have one."""
        receipt = None
        if self._message is not None:
            receipt = yield from ask(ReadReceipt(self.session, self._message))
            if receipt is None:
                raise NotFound(f"message {self._message} is not known in {self.session}")
            if receipt.run:
                self.run = receipt.run
                self._is_run_certain = True
            if receipt.state in (MessageState.ACCEPTED, MessageState.BOUND):
                return None
            # It was dropped, rejected or cancelled before any run took it.
            if receipt.run is None:
                return Ended(None, receipt)
        assert self.run is not None, "a receipt that is settled by a run names it"
        run = yield from ask(ReadRun(self.run))
        if run is None:
            raise NotFound(f"run {self.run} is not known", hint="records are kept for seven days")
        return Ended(run, receipt) if run.state.is_final else None

    def _why_waiting(self) -> Steps[Note | None]:
        if self._idle_since is None or self._clock() - self._idle_since < PATIENCE_SECONDS:
            return None
        self._idle_since = None
        return (yield from why_waiting(self.session, self.run))


def why_waiting(session: SessionKey, run: RunId | None) -> Steps[Note | None]:
    """Why nothing happens in a session; `run` is the one that is awaited, as far as known."""
    lane = queue_of(lane_of(session))
    workers = yield from ask(ReadWorkers())
    if not has_worker(workers, lane):
        return Note(f"no worker is running for lane {lane}; start one with `ocw up`")
    state = yield from ask(ReadState(session))
    if state.waits_for:
        return Note(waits_for_place(agent_of(session), state.waits_for))
    if state.state == "queued":
        if not has_worker((info for info in workers if info.facts.get("drain") != "1"), lane):
            return Note(f"all workers of lane {lane} are drained; `ocw undrain HOST` lets them take turns again")
        return Note(f"waiting for a free worker on lane {lane}")
    if state.state == "idle" or state.run == run:
        return None
    return Note(f"the session is busy with {state.run}; the message waits")


def waits_for_place(agent: str, where: str) -> str:
    """Why a run waits whose files no worker sees, and what to do."""
    return (
        f"the files of agent {agent} are at {where}, and no worker takes turns there; the message waits. "
        "Start `ocw up` there, `ocw undrain` the host if it is drained, or move the files with "
        f"`ocw agents move {agent} --to HOST`"
    )


def has_worker(workers: Iterable[WorkerInfo], lane: Lane) -> bool:
    return any(info.alive and lane in info.facts.get("lane", "").split(",") for info in workers)
