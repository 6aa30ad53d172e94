"""All stores over one Redis, with short ways to say, take and finish, and to look at what is stored."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import redis

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey, WorkerId
from openclaw_workers.domain.ledger import ModelCall, call_id
from openclaw_workers.domain.messages import Authority, DropPolicy, InboundMessage, MessageState, QueueMode, Route
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery, OutgoingMessage
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.session_key import is_subagent, subagent_key
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.domain.transcript import TranscriptEntry, Usage, UserEntry
from openclaw_workers.domain.tree import AnnounceMode
from openclaw_workers.store.archives import Archive, Archives, Place
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.inbox import Accepted, Inbox, QueueRules, Refused, Stopped, stored_form
from openclaw_workers.store.inter_session import InterSession
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.leases import Leases, Recovery
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.system_events import SystemEvents
from openclaw_workers.store.tree import Announced, NewChild, Spawned, Tree
from openclaw_workers.store.turn_records import (
    Committed,
    KnownTranscript,
    Lease,
    NotTaken,
    Outcome,
    ResetTimes,
    Taken,
    TurnRules,
)
from openclaw_workers.store.turns import Turns
from openclaw_workers.store.workers import Workers

SESSION = SessionKey("agent:main:main")
LEASE_MS = 8_000
REWAKE_MS = 4_000
GRANT_MS = 4_000
CLI = Route(channel="cli")
HERE = Place("here", "a:/state")
ELSEWHERE = Place("elsewhere", "b:/state")


def child_key(name: str) -> SessionKey:
    return subagent_key("main", name)


def child_named(name: str, *, batch: str, mode: AnnounceMode, record: dict[str, str]) -> NewChild:
    session = child_key(name)
    message = InboundMessage(
        id=MessageId(f"task-{name}"),
        session_key=session,
        text=f"do {name}",
        route=CLI,
        kind="internal",
        metadata={"provenance": "task"},
    )
    return NewChild(
        run=RunId(f"run-{name}"),
        session=session,
        session_id=SessionId(f"sid-{name}"),
        agent="main",
        message_id=message.id,
        message=stored_form(message),
        row={"spawnedBy": SESSION, "spawnDepth": "1", "rootSessionKey": SESSION},
        record={"label": name, "depth": "1", "root_session_key": SESSION, "spawn_mode": "run", **record},
        batch=BatchId(batch),
        mode=mode,
        cleanup_ms=3_600_000,
    )


def took(lease: Lease, usage: Usage, number: int = 1) -> LedgerEntries:
    """One call of an owner, by its number, that took so much."""
    call = ModelCall(
        id=call_id(lease.run, lease.fence, number),
        at=int(time.time() * 1000),
        run=lease.run,
        session=lease.session,
        agent="main",
        tree=lease.session,
        provider="p",
        model="m",
        usage=usage,
    )
    return LedgerEntries([call])


class StoreHarness:
    """One Redis, one namespace, any number of workers by name."""

    def __init__(self, client: redis.Redis, namespace: str, *, cap: int = 0) -> None:
        self.redis = client
        self.keys = Keys(namespace)
        self.cap = cap
        self.reader = Reader(client, self.keys)
        self.inbox = Inbox(client, self.keys, self.reader, rewake_ms=REWAKE_MS, grant_ms=GRANT_MS)
        self.sessions = Sessions(client, self.keys, grant_ms=GRANT_MS)
        self.leases = Leases(client, self.keys, lease_ms=LEASE_MS, rewake_ms=REWAKE_MS, grant_ms=GRANT_MS)
        self.due = DueItems(client, self.keys, lease_ms=LEASE_MS)
        self.workers = Workers(client, self.keys, lease_ms=LEASE_MS)
        self.tree = Tree(client, self.keys, self.reader, rewake_ms=REWAKE_MS)
        self.exchanges = InterSession(client, self.keys)
        self.archives = Archives(client, self.keys)
        self.outbox = Outbox(client, self.keys)
        self.system_events = SystemEvents(client, self.keys)
        self._numbers = itertools.count(1)

    # archives

    def archive(self, session_id: str = "") -> tuple[Archive, list[str]]:
        """Claim an archive, the only one unless it is named, and look at what is to be written."""
        archive_id = session_id or str(*self.redis.hkeys(self.keys.archives))
        claimed = self.archives.claim(archive_id, HERE)
        assert claimed is not None
        return claimed, self.archives.part(claimed)

    # what trees do

    def spawn(
        self,
        taken: Taken,
        *names: str,
        batch: str = "batch-1",
        mode: AnnounceMode = AnnounceMode.BATCH,
        most_children: int = 5,
        most_tree: int = 50,
        record: dict[str, str] | None = None,
    ) -> list[Spawned]:
        """Spawn a child `run-<name>` for each name."""
        children = [child_named(name, batch=batch, mode=mode, record=record or {}) for name in names]
        return self.tree.spawn(taken.lease, SESSION, children, most_children=most_children, most_tree=most_tree)

    def announce(
        self,
        batch: str = "batch-1",
        *,
        run: str = "run-announced",
        to: SessionKey | None = None,
        to_chat: Delivery = NO_DELIVERY,
    ) -> Announced | None:
        found = self.tree.batch(BatchId(batch))
        assert found is not None
        hearer = to or found.parent_session
        lane = Lane.SUBAGENT if is_subagent(hearer) else Lane.MAIN
        message = InboundMessage(
            id=MessageId(f"announce-{batch}"),
            session_key=hearer,
            text="results",
            route=CLI,
            kind="internal",
            metadata={"provenance": "subagent", "batch_key": self.keys.batch(batch)},
        )
        return self.tree.announce(
            found,
            hearer,
            lane,
            stored_form(message),
            message.id,
            authority=message.authority,
            wake="",
            run=RunId(run),
            shown=[],
            to_chat=to_chat,
        )

    # what people and workers do

    def say(
        self,
        text: str = "hello",
        *,
        session: SessionKey = SESSION,
        id: str | None = None,  # noqa: A002 - the message's own word
        mode: QueueMode = QueueMode.COLLECT,
        cap: int = 20,
        drop: DropPolicy = DropPolicy.SUMMARIZE,
        debounce_ms: int = 0,
        kind: Literal["user", "command", "internal"] = "user",
        sender: str = "",
        authority: Authority = Authority.OWNER,
        route: Route = CLI,
        model: str | None = None,
        system: str | None = None,
        run: str | None = None,
        wake: str = "",
        to_chat: Delivery = NO_DELIVERY,
        metadata: dict[str, str] | None = None,
        event: SystemEvent | None = None,
    ) -> Accepted | Refused:
        number = next(self._numbers)
        message = InboundMessage(
            id=MessageId(id or text),
            session_key=session,
            text=text,
            route=route,
            sender=sender,
            authority=authority,
            kind=kind,
            model=model,
            extra_system_prompt=system,
            metadata=metadata or {},
        )
        return self.inbox.accept(
            message,
            rules=QueueRules(mode, cap, drop, debounce_ms),
            lane=Lane.MAIN,
            agent_id="main",
            run_id=RunId(run or f"run-{number}"),
            session_id=SessionId(f"sid-{number}"),
            row_new={"sessionKind": "main"},
            row_each={"lastChannel": route.channel, "lastTo": route.to, "lastAccountId": route.account_id},
            wake=wake,
            to_chat=to_chat,
            system_event=event,
        )

    def turns(self, worker: str = "w1") -> Turns:
        rules = TurnRules(lease_ms=LEASE_MS, rewake_ms=REWAKE_MS, grant_ms=GRANT_MS)
        return Turns(self.redis, self.keys, WorkerId(worker), rules, {Lane.MAIN: self.cap})

    def try_take(
        self,
        worker: str = "w1",
        *,
        session: SessionKey = SESSION,
        run: str | None = None,
        nonce: str | None = None,
        daily_boundary_ms: int = 0,
        idle_ms: int = 0,
        may_suspect: bool = True,
        known: KnownTranscript | None = None,
        delivery: Delivery = NO_DELIVERY,
        place: str | None = None,
    ) -> Taken | NotTaken:
        """Take the given run, or whichever is current."""
        return self.turns(worker).take(
            session,
            RunId(run or self.ctl("run", session)),
            Lane.MAIN,
            nonce=nonce or f"n{next(self._numbers)}",
            time_ms=600_000,
            freshness={"": ResetTimes(daily_boundary_ms, idle_ms)},
            may_suspect=may_suspect,
            known=known,
            delivery=delivery,
            place=place,
        )

    def take(self, worker: str = "w1", **how: Any) -> Taken:
        taken = self.try_take(worker, **how)
        assert isinstance(taken, Taken), taken
        return taken

    def take_stale(self, **how: Any) -> Taken:
        """Take the session, last used before the day's boundary."""
        self.redis.hset(self.keys.row(SESSION), "lastInteractionAt", "1")
        return self.take(daily_boundary_ms=self.now(), **how)

    def refused(self, worker: str = "w2", **how: Any) -> str:
        """Why a take was refused."""
        taken = self.try_take(worker, **how)
        assert isinstance(taken, NotTaken), taken
        return taken.why

    def commit(
        self,
        taken: Taken,
        text: str = "answer",
        *,
        worker: str = "w1",
        state: RunState = RunState.OK,
        reason: str = "complete",
        messages: MessageState = MessageState.ANSWERED,
        next_run: str | None = None,
        wake: str = "",
        calls: LedgerEntries = NO_ENTRIES,
        usage: Usage | None = None,
        delivery: Delivery = NO_DELIVERY,
        **more: Any,
    ) -> Committed:
        outcome = Outcome(state, reason, messages, text=text, **more)
        if usage:
            calls = replace(calls, calls=took(taken.lease, usage, number=9).calls)
        following = RunId(next_run or f"run-{next(self._numbers)}")
        return self.turns(worker).commit(
            taken.lease, "main", outcome, next_run=following, wake=wake, calls=calls, delivery=delivery
        )

    def stop(
        self,
        *,
        session: SessionKey = SESSION,
        run: str | None = None,
        with_waiting: bool = True,
        to_chat: Delivery = NO_DELIVERY,
    ) -> Stopped:
        return self.inbox.stop(
            session,
            Lane.MAIN,
            run=RunId(run) if run else None,
            reason="killed",
            cap=self.cap,
            with_waiting=with_waiting,
            to_chat=to_chat,
        )

    def recover(self, session: SessionKey = SESSION, *, oldest_wake_ms: int = 0, max_attempts: int = 3) -> Recovery:
        _, recovery = self.leases.recover(
            session,
            Lane.MAIN,
            WorkerId("sweeper"),
            oldest_wake_ms=oldest_wake_ms,
            cap=self.cap,
            max_attempts=max_attempts,
        )
        return recovery

    def expire(self, session: SessionKey = SESSION) -> None:
        """Let the session's lease and slot run out, as if its worker had been silent for that long."""
        self.redis.hset(self.keys.ctl(session), "lease_until", str(self.now() - 1))
        self.redis.zadd(self.keys.slots(Lane.MAIN), {session: self.now() - 1}, xx=True)

    def crash(self, session: SessionKey = SESSION) -> Recovery:
        """The owner dies and a sweep finds out."""
        self.expire(session)
        return self.recover(session)

    # what is stored

    def now(self) -> int:
        seconds, micros = self.redis.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def ctl(self, field: str, session: SessionKey = SESSION) -> str:
        return str(self.redis.hget(self.keys.ctl(session), field) or "")

    def row(self, session: SessionKey = SESSION) -> dict[str, str]:
        return dict(self.redis.hgetall(self.keys.row(session)))  # type: ignore[arg-type]

    def receipt(self, message: str, session: SessionKey = SESSION) -> Receipt:
        receipt = self.inbox.receipt(session, MessageId(message))
        assert receipt is not None, message
        return receipt

    def states(self, *messages: str, session: SessionKey = SESSION) -> list[str]:
        return [self.receipt(message, session).state.value for message in messages]

    def waiting(self, session: SessionKey = SESSION) -> list[str]:
        return [str(entry.id) for entry in self.inbox.waiting(session)]

    def bound(self, session: SessionKey = SESSION) -> list[str]:
        raws = self.redis.zrange(self.keys.bound(session), 0, -1)
        return [str(json.loads(str(raw))["id"]) for raw in raws]

    def run(self, run_id: str) -> Run:
        run = self.reader.run(RunId(run_id))
        assert run is not None, run_id
        return run

    def log(self, session: SessionKey = SESSION) -> list[TranscriptEntry]:
        return self.reader.transcript(session)

    def users(self, session: SessionKey = SESSION) -> list[UserEntry]:
        return [entry for entry in self.log(session) if isinstance(entry, UserEntry)]

    def events(self, session: SessionKey = SESSION) -> list[str]:
        return [event.type for event in self.reader.events(session, "0", count=5000)]

    def outgoing(self) -> list[OutgoingMessage]:
        """What the outbox holds for chats, oldest first."""
        return [entry.message for entry in reversed(self.outbox.entries())]

    def due_at(self, item: str = f"turn|{SESSION}") -> int | None:
        score = self.redis.zscore(self.keys.due, item)
        return None if score is None else int(score)

    def queue(self) -> list[str]:
        """The wake-ups that scripts pushed."""
        return [str(wake) for wake in self.redis.lrange(self.keys.broker_queue(Lane.MAIN), 0, -1)]

    def slots(self) -> set[str]:
        return {str(session) for session in self.redis.zrange(self.keys.slots(Lane.MAIN), 0, -1)}

    def line(self) -> list[str]:
        return [str(place).split(" ")[1] for place in self.redis.zrange(self.keys.line(Lane.MAIN), 0, -1)]


def texts(entry: UserEntry) -> list[str]:
    return [block.text for block in entry.content]


def session_named(*names: str) -> Sequence[SessionKey]:
    return [SessionKey(f"agent:main:{name}") for name in names]
