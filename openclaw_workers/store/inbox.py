"""What goes in: accepting messages, stopping, and how each accepted message stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from openclaw_workers.domain.ids import MessageId, RunId, SessionId, SessionKey, new_run_id
from openclaw_workers.domain.messages import (
    DropPolicy,
    InboundMessage,
    InboxEntry,
    MessageState,
    QueueMode,
    read_inbox_entry,
)
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.stored_json import versioned
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.domain.tree import own_batch
from openclaw_workers.errors import CorruptRecord, StoreFull
from openclaw_workers.redaction import mask_known
from openclaw_workers.store.client import Client, ScriptCall, run_call, run_script, script_call, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.quarantine import fields_at_fault
from openclaw_workers.store.reader import Reader

# Of a message that is dropped by `drop: summarize`: the next turn reads a list of these.
SUMMARY_CHARS = 160
MOST_COLLECTED = 50
DEDUPE_SECONDS = 86_400
"""How long after the first delivery of a message a channel may deliver it again."""


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How a busy session treats a message, unless the session itself says otherwise."""

    mode: QueueMode = QueueMode.COLLECT
    cap: int = 20
    drop: DropPolicy = DropPolicy.SUMMARIZE
    debounce_ms: int = 500


@dataclass(frozen=True, slots=True)
class JobFiring:
    """A time of a scheduled job, which is accepted once."""

    job: str
    time: int
    following: int | None
    """The time after it."""
    is_manual: bool = False
    """Somebody asked for it: the job's own times stay as they are."""

    def as_json(self) -> str:
        following = "" if self.following is None else str(self.following)
        return json.dumps({"job": self.job, "at": str(self.time), "next": following, "manual": self.is_manual})


@dataclass(frozen=True, slots=True)
class Accepted:
    session: SessionKey
    """Where it is: of a repeat, where it went first."""
    run: RunId | None
    """The run it opened; None when the session was busy and the run is not known yet."""
    wake: RunId | None
    """The run whose wake-up must be published now."""
    event_id: str
    """Where in the session's event stream this message begins; "0" when it was a repeat."""
    duplicate: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a stop did: `begun` says whether an owner still has to end it, `wake` which run to wake."""

    run: RunId | None
    begun: bool = False
    wake: RunId | None = None
    cancelled: int = 0
    granted: tuple[tuple[RunId, SessionKey], ...] = ()
    settled: bool = False
    """It was a child's run, and its batch must hear of it."""
    live: tuple[RunId, ...] = ()
    """What the session had spawned and had not settled in that moment, by whichever of its runs."""
    children: int = 0
    """How many of them are stopped with it."""


def pairs(flat: list[str]) -> tuple[tuple[RunId, SessionKey], ...]:
    """Granted slots come back from Lua as run, session, run, session."""
    return tuple((RunId(run), SessionKey(session)) for run, session in zip(flat[::2], flat[1::2], strict=True))


def _stopped(reply: list[Any]) -> Stopped:
    """What the script says it did, or did when the same message came first."""
    live = tuple(map(RunId, reply[2]))
    match reply:
        case ["stopping", run, _, cancelled, owned]:
            return Stopped(RunId(run), True, None if owned else RunId(run), cancelled, live=live)
        case ["stopped", run, _, cancelled, granted, next_run, settled]:
            wake = RunId(next_run) if next_run else None
            return Stopped(RunId(run), False, wake, cancelled, pairs(granted), bool(settled), live)
        case _:
            return Stopped(run=None, live=live)


def stored_form(message: InboundMessage) -> str:
    """The message as scripts put it into an inbox; they add its place in the line."""
    body = message.model_dump(mode="json", exclude={"session_key", "attachments"}, exclude_none=True)
    body["address"] = message.route.address()
    body["summary"] = " ".join(message.text.split())[:SUMMARY_CHARS]
    if message.attachments:
        # Never an empty list: a script that wrote it again would make it an empty object.
        body["attachments"] = [each.model_dump(by_alias=True, exclude_none=True) for each in message.attachments]
    return versioned(json.dumps(body, ensure_ascii=False))


class Inbox:
    """The only code that puts messages into sessions or takes them away unanswered."""

    def __init__(self, redis: Client, keys: Keys, reader: Reader, *, rewake_ms: int, grant_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._reader = reader
        self._rewake_ms = rewake_ms
        self._grant_ms = grant_ms

    def accept(self, message: InboundMessage, **options: Any) -> Accepted | Refused:
        """Put a message into its inbox, with the options of `accept_call`. A repeat with the same id changes nothing.

        Raises:
            StoreUnavailable: nothing is known; repeating with the same id is safe.
            StoreFull: not accepted, because Redis has little memory left.
            CorruptRecord: it is a repeat, and what became of the message cannot be read.
        """
        return self.accepted(message, self.run(self.accept_call(message, **options)))

    def run(self, call: ScriptCall) -> list[Any]:
        return run_call(self._redis, call)

    def accept_call(
        self,
        message: InboundMessage,
        *,
        rules: QueueRules,
        lane: Lane,
        agent_id: str,
        run_id: RunId,
        session_id: SessionId,
        row_new: dict[str, str],
        row_each: dict[str, str] | None = None,
        row_route: dict[str, str] | None = None,
        wake: str = "",
        mode: QueueMode | None = None,
        delivery: str = "",
        to_chat: Delivery = NO_DELIVERY,
        system_event: SystemEvent | None = None,
        firing: JobFiring | None = None,
    ) -> ScriptCall:
        """The script that accepts a message, for whoever has a connection of its own.

        `delivery` is the same each time the channel delivers the message: a repeat is one whichever session it is for.

        `row_each` and `row_route` are set by every message; an empty value clears a field. `row_route` says where the
        session's replies go, and is not for sessions that are bound to a thread.

        `wake` is pushed into the lane's queue in the same moment; without it the caller publishes the wake-up.
        `mode` is for this message alone, whatever the session or `rules` say. `to_chat`: what the chat of a dropped or
        rejected message is sent. `system_event`: what this message wakes the session for; while such a message waits,
        further events join it and count as its repeats. `firing`: the time of a scheduled job that this message is; it
        is a repeat if the job does not wait for that time.
        """
        k, key = self._keys, message.session_key
        return script_call(
            "accept",
            keys={
                **k.for_session(key, "row", "ctl", "inbox", "receipts", "events", "waiters"),
                **k.for_session(key, "event_keys", "bound", "asking"),
                **k.shared("places", "places_seen", "places_apart", "places_where"),
                "waits_prefix": k.place_waits(""),
                "open": k.questions,
                **k.shared("due", "sessions", "runs", "memory", "outgoing"),
                "event_list": k.system_events(key),
                "run_key": k.run(run_id),
                "queue": k.broker_queue(lane),
                "next_batch": k.batch(own_batch(run_id)),
                "next_open": k.open(own_batch(run_id)),
                "dedupe": k.dedupe(delivery),
                # A script needs all its keys. Those of an option that is not used are never touched.
                "job": k.job(firing.job if firing else ""),
                "firings": k.job_firings(firing.job if firing else ""),
            },
            args={
                "session": key,
                "message": stored_form(message),
                "id": message.id,
                "kind": message.kind,
                "authority": message.authority,
                "mode": rules.mode,
                "cap": rules.cap,
                "drop": rules.drop,
                "run": run_id,
                "lane": lane,
                "rewake_ms": self._rewake_ms,
                "new_session_id": session_id,
                "agent": agent_id,
                "row_new": json.dumps(row_new),
                "row_each": json.dumps(row_each) if row_each else "{}",
                "row_route": json.dumps(row_route or {}),
                "debounce_ms": rules.debounce_ms,
                "wake_message": wake,
                "own_mode": mode or "",
                # The model reads the message as it is. The record of a question, which people list, must not show
                # secrets.
                "masked": masked if (masked := mask_known(message.text)) != message.text else "",
                "keep_s": DEDUPE_SECONDS if delivery else 0,
                "delivery": to_chat.as_json,
                "system_event": system_event.as_json() if system_event else "",
                "firing": firing.as_json() if firing else "{}",
            },
        )

    def accepted(self, message: InboundMessage, reply: list[Any]) -> Accepted | Refused:
        """What the script has done with a message; raises as `accept`."""
        match reply:
            case ["accepted", _, run, publish, event_id]:
                opened = RunId(run) if run else None
                return Accepted(message.session_key, opened, opened if publish else None, event_id)
            case ["duplicate", "", session]:
                forgotten = Receipt(state=MessageState.ANSWERED, reason="forgotten")  # only what is over is
                return Accepted(SessionKey(session), None, None, event_id="0", duplicate=forgotten)
            case ["duplicate", raw, session]:
                receipt = self._read(SessionKey(session), message.id, raw)
                return Accepted(SessionKey(session), receipt.run, None, event_id="0", duplicate=receipt)
            case ["memory", percent]:
                raise StoreFull(int(percent))
            case ["rejected", reason, _]:
                return Refused(reason)
        raise AssertionError(reply)

    def stop(
        self,
        key: SessionKey,
        lane: Lane,
        *,
        run: RunId | None,
        reason: str,
        cap: int,
        with_waiting: bool,
        with_all_children: bool | None = None,
        partial: Callable[[RunId], str] = lambda run: "",
        delivery: str = "",
        to_chat: Delivery = NO_DELIVERY,
    ) -> Stopped:
        """Stop the named run, or whatever is current; `run=None` in the answer means that no run was there to stop.

        What it has spawned is to be stopped with it; all that the session has, if waiting messages are cancelled too,
        or as `with_all_children` says. `partial`: what a run without an owner had written so far.
        `delivery` is that of the message that orders this: if it comes again it gets the first answer.
        `to_chat`: what the chats of cancelled messages are sent.
        """
        whole = with_waiting if with_all_children is None else with_all_children
        k = self._keys
        # Rule 11: a stop is for what is there now. An idle session may still have children at work.
        found, given_at = self._at_work(key)
        current = run or found or RunId("")
        # A run may commit between the read and the script, which then names the run that is current now.
        for _ in range(5):
            following = new_run_id()
            reply = run_script(
                self._redis,
                "stop",
                keys={
                    **k.for_session(key, "row", "ctl", "inbox", "receipts", "events", "live", "bound"),
                    **k.shared("due", "runs", "stop_orders", "outgoing"),
                    **k.for_lane(lane, "slots", "line"),
                    "run_key": k.run(current),
                    "next_key": k.run(following),
                    "next_batch": k.batch(own_batch(following)),
                    "next_open": k.open(own_batch(following)),
                    "dedupe": k.dedupe(delivery),
                },
                args={
                    "session": key,
                    "run": current,
                    "all": with_waiting,
                    "reason": reason,
                    "cap": cap,
                    "grant_ms": self._grant_ms,
                    "next_run": following,
                    "lane": lane,
                    "agent": agent_of(key),
                    "rewake_ms": self._rewake_ms,
                    "most": MOST_COLLECTED,
                    "whole": whole,
                    "partial": partial(current) if current else "",
                    "given_at": given_at,
                    "keep_s": DEDUPE_SECONDS if delivery else 0,
                    "delivery": to_chat.as_json,
                },
            )
            match reply:
                case ["other", later, _, first_seq] if run is None and int(first_seq) <= given_at:
                    current = RunId(later)  # the one before committed in between, and this answers what waited then
                case _:
                    return _stopped(reply)
        return Stopped(run=None)

    def _at_work(self, key: SessionKey) -> tuple[RunId | None, int]:
        """The current run, if there is one, and the sequence number of the last message."""
        with store_errors():
            state, run, seq = self._redis.hmget(self._keys.ctl(key), ["state", "run", "seq"])
        return RunId(str(run)) if run and state != "idle" else None, int(seq or 0)

    def current_run(self, key: SessionKey) -> RunId | None:
        return self._at_work(key)[0]

    def answer(self, delivery: str) -> str | None:
        """What was answered to a command when it was first delivered."""
        with store_errors():
            found = self._redis.hget(self._keys.dedupe(delivery), "answer")
        return None if found is None else str(found)

    def keep_answer(self, delivery: str, text: str) -> None:
        key = self._keys.dedupe(delivery)
        # A transaction: an answer without an expiry would stay for ever.
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.hset(key, "answer", text)
            pipe.expire(key, DEDUPE_SECONDS)
            pipe.execute()

    def receipt(self, key: SessionKey, message_id: MessageId) -> Receipt | None:
        """What became of a message.

        Raises:
            CorruptRecord: there is a receipt, and it cannot be read.
        """
        with store_errors():
            raw = self._redis.hget(self._keys.receipts(key), message_id)
        return self._read(key, message_id, str(raw)) if raw else None

    def _read(self, key: SessionKey, message_id: MessageId, raw: str) -> Receipt:
        try:
            return Receipt.model_validate_json(raw)
        except ValidationError as error:
            damaged = CorruptRecord(f"the receipt of {message_id} in {key}", fields_at_fault(error))
            self._reader.quarantine(damaged.where, damaged.why, raw)
            # Not answered as unknown: the caller would take the message for a new one.
            raise damaged from error

    def waiting(self, key: SessionKey) -> list[InboxEntry]:
        with store_errors():
            raws = self._redis.zrange(self._keys.inbox(key), 0, -1)
        return [read_inbox_entry(str(raw)) for raw in raws]
