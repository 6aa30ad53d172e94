"""A turn in Redis: take, step, emit, commit, release. Every write is fenced by the lease."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.domain.ids import (
    RunId,
    SessionKey,
    WorkerId,
    new_run_id,
    new_session_id,
)
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.stored_json import to_json
from openclaw_workers.domain.transcript import TranscriptEntry, dump_entry
from openclaw_workers.domain.tree import own_batch
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.client import Client, run_script
from openclaw_workers.store.inbox import MOST_COLLECTED, pairs
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.llm.lost_model_calls import LostCallRecords
from openclaw_workers.store.turn_records import (
    Committed,
    Granted,
    KnownTranscript,
    Lease,
    NotTaken,
    Outcome,
    ResetTimes,
    Taken,
    TurnRules,
    WaitFor,
    authority_of,
)


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
        delivery: Delivery = NO_DELIVERY,
        place: str | None = None,
    ) -> Taken | NotTaken:
        """Become the owner, if there is work and nobody owns it. Safe to repeat with the same nonce.

        `freshness` is by the channel the session was last spoken to on; "" is for all others. `known` is what the
        caller still has of the transcript; if that holds, only what is newer is returned. `delivery`: what the chat is
        sent if the session is reset. `place` is the one that this host sees for the agent, "" if it sees none; None for
        an agent whose turns run anywhere.
        """
        k, rules, known = self._keys, self._rules, known or KnownTranscript()
        reply = run_script(
            self._redis,
            "take",
            keys={
                **k.for_session(session, "row", "ctl", "inbox", "bound", "receipts", "log", "events", "live"),
                **k.for_session(session, "system_events"),
                **k.shared("due", "running", "suspects", "archives", "stop_orders", "sessions", "outgoing"),
                **k.for_lane(lane, "slots", "line"),
                **k.shared("places", "places_seen"),
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
                # By channel, because only the script knows where the session was last spoken to.
                "stale": json.dumps({name: [f.daily_boundary_ms, f.idle_ms] for name, f in freshness.items()}),
                "new_session_id": new_session_id(),
                "tail": rules.tail,
                "most": MOST_COLLECTED,
                "known_id": known.session_id,
                "known_length": known.length,
                "grant_ms": rules.grant_ms,
                "known_digest": known.digest,
                "delivery": delivery.as_json,
                "agent": agent_of(session),
                "is_placed": place is not None,
                "seen_place": place or "",
            },
            # The caller repeats it until Redis answers, so the connection need not be checked first.
            repeats=True,
        )
        if reply[0] != "taken":
            why, *more = reply
            return NotTaken(why, pairs(more[0]) if more else (), *more[1:])
        return _taken(session, run, lane, reply[1:])

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
        calls: LedgerEntries = NO_ENTRIES,
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
                **calls.ledger_keys(k),
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
                "ledger_entries": calls.entries(),
            },
            more_keys=calls.budget_keys(k),
            more_args=[*map(dump_entry, entries)],
            repeats=True,
        )
        self._check(reply, lease)
        return str(reply[1]), json.loads(reply[2])

    def record_calls(self, lease: Lease, calls: LedgerEntries) -> None:
        """Enter calls into the ledger; whoever owns the run by now, they were made (rule 14)."""
        k = self._keys
        run_script(
            self._redis,
            "record_calls",
            keys={**calls.ledger_keys(k), "run_key": k.run(lease.run), "ctl": k.ctl(lease.session)},
            args={"run": lease.run, "lease": lease.token, "ledger_entries": calls.entries()},
            more_keys=calls.budget_keys(k),
        )

    def record_last_calls(self, lease: Lease, calls: LedgerEntries) -> None:
        """Record the calls of an owner whose run was taken away, so that nobody estimates them."""
        if calls.calls or calls.attempts:
            self.record_calls(lease, calls)
        # After the entry, not before it: if this process dies in between, the sweep finds the call in the ledger.
        LostCallRecords(self._redis, self._keys).forget(f"{lease.run}:{lease.fence}")

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
        calls: LedgerEntries = NO_ENTRIES,
        delivery: Delivery = NO_DELIVERY,
    ) -> Committed:
        """End the turn. Safe to repeat with the same lease.

        `wake` is the wake-up of the next run, pushed if messages wait; without it the caller publishes. `delivery`:
        what is sent to the chats of the answered messages.

        Raises:
            LeaseLost: another worker owns the session now; nothing was written.
        """
        k, s, lane = self._keys, lease.session, lease.lane
        # Made here: Lua has no good random numbers, and the script must know the run's keys in advance.
        following = next_run or new_run_id()
        reply = run_script(
            self._redis,
            "commit",
            keys={
                **k.for_session(s, "row", "ctl", "inbox", "bound", "receipts", "log", "events", "live", "waiters"),
                **k.for_session(s, "system_events"),
                **k.for_lane(lane, "slots", "line"),
                **k.shared(
                    "due", "running", "runs", "suspects", "archives", "stop_orders", "relays", "threads", "sessions"
                ),
                **k.shared("outgoing"),
                **k.shared("places", "places_apart"),
                **calls.ledger_keys(k),
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
                "wake_message": wake,
                "delivery": delivery.as_json,
                "ledger_entries": calls.entries(),
            },
            more_keys=calls.budget_keys(k),
            more_args=[*map(dump_entry, outcome.entries)],
            repeats=True,
        )
        self._check(reply, lease)
        _, run, delay_ms, granted, how, answered = reply
        return Committed(RunId(run) if run else None, int(delay_ms), pairs(granted), how, tuple(answered))

    def release(
        self, lease: Lease, wait: WaitFor | None = None, *, calls: LedgerEntries = NO_ENTRIES
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
                **calls.ledger_keys(k),
                "run_key": k.run(lease.run),
                "waiters": k.asking(s) if wait and wait.is_question else k.waiters(wait.session if wait else s),
            },
            args={
                **self._whose(lease),
                "wait_ms": wait.milliseconds if wait else 0,
                "message": wait.message if wait else "",
                "ledger_entries": calls.entries(),
            },
            more_keys=calls.budget_keys(k),
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


def _taken(session: SessionKey, run: RunId, lane: Lane, reply: list[Any]) -> Taken:
    """What `take.lua` has granted, in the order of its header."""
    token, step, attempt, suspect, resumed, started, deadline, now, abort, bound, length, tail, *rest = reply
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
        authority=authority_of(bound),
    )
