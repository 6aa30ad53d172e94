"""The life of a turn in Redis: take, step, emit, commit, release. Every write is fenced by the lease."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from openclaw_workers.domain.ids import (
    MessageId,
    RunId,
    SessionKey,
    WorkerId,
    new_run_id,
    new_session_id,
)
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.stored_json import to_json
from openclaw_workers.domain.transcript import TranscriptEntry, dump_entry
from openclaw_workers.domain.tree import own_batch
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.client import Client, run_script
from openclaw_workers.store.inbox import MOST_COLLECTED, pairs
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.llm.lost_calls import Orphans

Granted = tuple[tuple[RunId, SessionKey], ...]


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof of ownership: `fence:nonce`, checked for equality by every write."""

    session: SessionKey
    run: RunId
    lane: Lane
    token: str

    @property
    def fence(self) -> int:
        return int(self.token.partition(":")[0])


@dataclass(frozen=True, slots=True)
class ResetTimes:
    """When a session counts as stale: last used before the boundary, or idle for too long.

    Either is enough; 0 means that it never is for this reason.
    """

    daily_boundary_ms: int = 0
    idle_ms: int = 0


@dataclass(frozen=True, slots=True)
class KnownTranscript:
    """The beginning of a transcript that a worker has read before."""

    session_id: str = ""
    length: int = 0
    digest: str = ""
    """SHA-1 of its last entry as it is stored: entries carry their time and run, so no other has the same."""


@dataclass(frozen=True, slots=True)
class Taken:
    """All a worker needs to begin or continue a turn. Stored records are still raw JSON here."""

    lease: Lease
    step: int
    attempt: int
    suspect: bool
    resumed: bool
    started_call: str
    deadline_at: int
    now: int
    abort: str
    bound: list[str]
    log_length: int
    tail: list[str]
    row: dict[str, str]
    how: str = "taken"
    """As in models.runs.Attempt."""
    dead: tuple[int, ...] = ()
    """Owners before, by their fence, that died over a model call which is not booked yet."""
    steering_waits: bool = False
    """Whether messages may wait that were sent into this turn while it had another owner, or none."""
    known_holds: bool = False
    """Whether the transcript still begins with what the caller said it knows."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """`why` is gone, idle, stale, held, parked, early, lane or suspect."""

    why: str
    granted: Granted = ()
    """Lane slots that this freed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ends."""

    state: RunState
    reason: str
    messages: MessageState
    text: str = ""
    error: str = ""
    model: str = ""
    worked: float = 0.0
    """Seconds that tools took since the last step."""
    context_tokens: int = 0
    entries: Sequence[TranscriptEntry] = ()
    reset: bool = False
    row: dict[str, str] = field(default_factory=dict)
    partial: str = ""
    """What there was of a result when it failed."""

    def as_json(self) -> str:
        return to_json({name: getattr(self, name) for name in self.__slots__ if name != "entries"})


@dataclass(frozen=True, slots=True)
class Committed:
    next_run: RunId | None
    delay_ms: int
    granted: Granted
    how: Literal["ended", "unsettled", "settled", "again", "parked"]
    """A child's run is `settled` when all it spawned is over too; `again` and `parked` go on."""
    answered: tuple[SessionKey, ...]
    """Sessions whose runs were waiting for this answer, or that will be told of it."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """What a parked run waits for: the answer to a message that it sent to another session."""

    session: SessionKey
    message: MessageId
    milliseconds: int


@dataclass(frozen=True, slots=True)
class TurnRules:
    """The settings the scripts need; one value per process."""

    lease_ms: int
    rewake_ms: int
    grant_ms: int
    tail: int = 200


class Turns:
    """The only code that writes on behalf of a running turn."""

    def __init__(self, redis: Client, keys: Keys, worker: WorkerId, rules: TurnRules, caps: dict[Lane, int]) -> None:
        self._redis = redis
        self._keys = keys
        self._worker = worker
        self._rules = rules
        self._caps = caps

    def take(
        self,
        session: SessionKey,
        run: RunId,
        lane: Lane,
        *,
        nonce: str,
        time_ms: int,
        freshness: Mapping[str, ResetTimes],
        may_suspect: bool,
        known: KnownTranscript | None = None,
    ) -> Taken | NotTaken:
        """Become the owner, if there is work and nobody owns it. Safe to repeat with the same nonce.

        `freshness` is by the channel the session was last spoken to on; "" is for all others. `known` is what the
        caller still has of the transcript; if that holds, only what is newer is returned.
        """
        k, rules, known = self._keys, self._rules, known or KnownTranscript()
        reply = run_script(
            self._redis,
            "take",
            keys={
                **k.for_session(session, "row", "ctl", "inbox", "bound", "receipts", "log", "events", "live"),
                **k.shared("due", "running", "suspects", "archives", "reaps", "sessions"),
                **k.for_lane(lane, "slots", "line"),
                "run_key": k.run(run),
                "ticket_key": k.ticket(lane),
                "archive_prefix": k.archive(""),
            },
            args={
                "session": session,
                "run": run,
                "nonce": nonce,
                "worker": self._worker,
                "lease_ms": rules.lease_ms,
                "cap": self._cap(lane),
                "may_suspect": may_suspect,
                "time_ms": time_ms,
                "stale": json.dumps({name: [f.daily_boundary_ms, f.idle_ms] for name, f in freshness.items()}),
                "new_session_id": new_session_id(),
                "tail": rules.tail,
                "most": MOST_COLLECTED,
                "known_id": known.session_id,
                "known_length": known.length,
                "grant_ms": rules.grant_ms,
                "known_digest": known.digest,
            },
            repeats=True,
        )
        if reply[0] != "taken":
            return NotTaken(reply[0], pairs(reply[1]) if len(reply) > 1 else ())
        token, step, attempt, suspect, resumed, started, deadline, now, abort, bound, length, tail, *rest = reply[1:]
        row, how, dead, steers, holds = rest
        return Taken(
            lease=Lease(session, run, lane, token),
            step=int(step),
            attempt=int(attempt),
            suspect=bool(suspect),
            resumed=resumed == "1",
            started_call=started,
            deadline_at=int(deadline),
            now=int(now),
            abort=abort,
            bound=bound,
            log_length=int(length),
            tail=tail,
            row=dict(zip(row[::2], row[1::2], strict=True)),
            how=how,
            dead=tuple(json.loads(dead)),
            steering_waits=bool(steers),
            known_holds=bool(holds),
        )

    def step(
        self,
        lease: Lease,
        number: int,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        worked: float = 0.0,
        events: Sequence[dict[str, Any]] = (),
        books: LedgerEntries = NO_ENTRIES,
    ) -> tuple[str, list[Any]]:
        """Journal a step; returns the abort reason, if any, and the steered user entries as parsed JSON.

        Raises:
            LeaseLost: another worker owns the session now.
        """
        k, s = self._keys, lease.session
        reply = run_script(
            self._redis,
            "step",
            keys={
                **k.for_session(s, "ctl", "inbox", "bound", "receipts", "log", "events"),
                **books.ledger_keys(k),
                "run_key": k.run(lease.run),
            },
            args={
                "lease": lease.token,
                "run": lease.run,
                "step": number,
                "starting": starting,
                "may_steer": may_steer,
                "worked": worked,
                "shown": to_json(list(events)),
                "ledger_entries": books.entries(),
            },
            more_keys=books.budget_keys(k),
            more_args=[*map(dump_entry, entries)],
            repeats=True,
        )
        self._check(reply, lease)
        return str(reply[1]), json.loads(reply[2])

    def book(self, lease: Lease, books: LedgerEntries) -> None:
        """Enter calls into the ledger; whoever owns the run by now, they were made (rule 14)."""
        k = self._keys
        run_script(
            self._redis,
            "book",
            keys={**books.ledger_keys(k), "run_key": k.run(lease.run), "ctl": k.ctl(lease.session)},
            args={"run": lease.run, "lease": lease.token, "ledger_entries": books.entries()},
            more_keys=books.budget_keys(k),
        )

    def let_go(self, lease: Lease, books: LedgerEntries) -> None:
        """The run was taken away, and what its owner did until then is booked: nobody has to guess at it."""
        if books.calls or books.attempts:
            self.book(lease, books)
        Orphans(self._redis, self._keys).forget(f"{lease.run}:{lease.fence}")

    def emit(self, lease: Lease, events: Sequence[dict[str, Any]]) -> None:
        """Show viewers something that is not journalled.

        Raises:
            LeaseLost: another worker owns the session now.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "emit",
            keys={**k.for_session(lease.session, "ctl", "events"), "run_key": k.run(lease.run)},
            args={"lease": lease.token, "shown": to_json(list(events))},
        )
        self._check(reply, lease)

    def commit(
        self,
        lease: Lease,
        agent_id: str,
        outcome: Outcome,
        *,
        next_run: RunId | None = None,
        wake: str = "",
        books: LedgerEntries = NO_ENTRIES,
    ) -> Committed:
        """End the turn. Safe to repeat with the same lease.

        `wake` is the wake-up of the next run, pushed if messages wait; without it the caller publishes.

        Raises:
            LeaseLost: another worker owns the session now; nothing was written.
        """
        k, s, lane = self._keys, lease.session, lease.lane
        following = next_run or new_run_id()
        reply = run_script(
            self._redis,
            "commit",
            keys={
                **k.for_session(s, "row", "ctl", "inbox", "bound", "receipts", "log", "events", "live", "waiters"),
                **k.for_lane(lane, "slots", "line"),
                **k.shared("due", "running", "runs", "suspects", "archives", "reaps", "relays", "threads", "sessions"),
                **books.ledger_keys(k),
                "run_key": k.run(lease.run),
                "next_key": k.run(following),
                "next_batch": k.batch(own_batch(following)),
                "next_open": k.open(own_batch(following)),
                "archive_prefix": k.archive(""),
                "queue": k.broker_queue(lane),
            },
            args={
                **self._whose(lease),
                "outcome": outcome.as_json(),
                "next_run": following,
                "lane": lane,
                "agent": agent_id,
                "new_session_id": new_session_id(),
                "wake": wake,
                "ledger_entries": books.entries(),
            },
            more_keys=books.budget_keys(k),
            more_args=[*map(dump_entry, outcome.entries)],
            repeats=True,
        )
        self._check(reply, lease)
        _, run, delay_ms, granted, how, answered = reply
        return Committed(RunId(run) if run else None, int(delay_ms), pairs(granted), how, tuple(answered))

    def release(
        self, lease: Lease, wait: WaitFor | None = None, *, books: LedgerEntries = NO_ENTRIES
    ) -> tuple[bool, Granted]:
        """Give the turn back for another worker to continue; or park it until an answer has come or its time is over.

        Returns whether it is to be woken at once, and the lane slots this frees.

        Raises:
            LeaseLost: another worker owns the session now.
        """
        k, s, lane = self._keys, lease.session, lease.lane
        reply = run_script(
            self._redis,
            "release",
            keys={
                **k.for_session(s, "ctl", "events"),
                **k.for_lane(lane, "slots", "line"),
                **k.shared("due", "running", "suspects"),
                **books.ledger_keys(k),
                "run_key": k.run(lease.run),
                "waiters": k.waiters(wait.session if wait else s),
            },
            args={
                **self._whose(lease),
                "wait_ms": wait.milliseconds if wait else 0,
                "message": wait.message if wait else "",
                "ledger_entries": books.entries(),
            },
            more_keys=books.budget_keys(k),
            repeats=True,
        )
        self._check(reply, lease)
        return reply[0] == "released", pairs(reply[1])

    def _whose(self, lease: Lease) -> dict[str, str | int]:
        """Which turn of which worker ends, and the settings for what comes after it."""
        return {
            "session": lease.session,
            "lease": lease.token,
            "run": lease.run,
            "worker": self._worker,
            "cap": self._cap(lease.lane),
            "grant_ms": self._rules.grant_ms,
            "rewake_ms": self._rules.rewake_ms,
        }

    def _cap(self, lane: Lane) -> int:
        return self._caps.get(lane, 0)

    def _check(self, reply: list[Any], lease: Lease) -> None:
        if reply[0] == "lost":
            # Redis gives an expired lease no callback, so a paused worker learns that it lost the session only here.
            raise LeaseLost(f"{lease.session} is owned by another worker now")
