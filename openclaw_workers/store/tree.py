"""The session tree in Redis: spawning, batches, announcing, and who is whose child."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery
from openclaw_workers.domain.runs import Lane, Run
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.stored_json import check_form, record_fields
from openclaw_workers.domain.tree import AnnounceMode, Batch, BatchState, own_batch
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import BATCH, FORGET, STOP_CHILDREN, Keys
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Lease


@dataclass(frozen=True, slots=True)
class NewChild:
    """One child as the spawn script registers it. `row` and `record` are hash fields."""

    run: RunId
    session: SessionKey
    session_id: SessionId
    agent: str
    message_id: MessageId
    message: str
    row: dict[str, str]
    record: dict[str, str]
    batch: BatchId
    mode: AnnounceMode
    cleanup_ms: int
    entries: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    """Files for it that wait in Redis. The script does not need them: the message names them too."""
    thread: str = ""

    def as_json(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__ if name != "uploads"})


@dataclass(frozen=True, slots=True)
class Spawned:
    """`verdict` is accepted, children, tree, memory or cancelled; `number` the place in the batch, how many there are,
    or how much of its memory Redis uses (per cent)."""

    verdict: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Announced:
    how: BatchState
    wake: RunId | None
    """A run of the parent session that must be woken."""
    settles_parent: bool
    """The run that spawned the batch is settled by this, and its own batch must hear of it."""


class Vanished(Exception):
    """The session that is to hear of a batch no longer exists."""


@dataclass(frozen=True, slots=True)
class StopOrder:
    """An order to stop children: those of the whole session, or those that one run of it has spawned."""

    upto: int
    reason: str
    run: RunId | None = None

    def is_for(self, child: Run) -> bool:
        return self.run is None or child.parent_run_id == self.run


def stop_order_name(session: SessionKey, run: RunId | None) -> str:
    return f"{run} {session}" if run else session


def parse_stop_order_name(name: str) -> tuple[SessionKey, RunId | None]:
    """Session and run of an order; a run's id holds no blank, whatever a session's key does."""
    run, blank, session = name.partition(" ")
    return (SessionKey(session), RunId(run)) if blank and run.startswith("run-") else (SessionKey(name), None)


class Tree:
    def __init__(self, redis: Client, keys: Keys, reader: Reader, *, rewake_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._reader = reader
        self._rewake_ms = rewake_ms

    def spawn(
        self, lease: Lease, root: SessionKey, children: Sequence[NewChild], *, most_children: int, most_tree: int
    ) -> list[Spawned]:
        """Register children; each is accepted or not by itself. Safe to repeat.

        Raises:
            LeaseLost: another worker owns the parent now; nothing was written.
        """
        k, s = self._keys, lease.session
        reply = run_script(
            self._redis,
            "spawn",
            keys={
                **k.for_session(s, "row", "ctl", "events", "batches", "children", "live", "spawned"),
                **k.shared("due", "sessions", "runs", "threads", "memory"),
                "label_prefix": k.label(""),
                "tree": k.tree(root),
                "parent_key": k.run(lease.run),
            },
            args={
                "lease": lease.token,
                "parent_run": lease.run,
                "parent": s,
                "most_children": most_children,
                "most_tree": most_tree,
                "rewake_ms": self._rewake_ms,
            },
            # Children of one message are registered together: a crash leaves all of them or none.
            more_keys=[key for child in children for key in _child_keys(k, child)],
            more_args=[child.as_json() for child in children],
        )
        if reply[0] == "lost":
            raise LeaseLost(f"{s} is owned by another worker now")
        return [Spawned(verdict, *number) for verdict, *number in reply]

    def batch(self, batch_id: BatchId) -> Batch | None:
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.batch(batch_id))
        return as_batch(raw) if raw else None

    def members(self, batch: Batch) -> list[Run]:
        return [self._reader.with_text(run) for run in self._reader.some_runs(batch.members)]

    def batches(self, session: SessionKey) -> list[BatchId]:
        """Batches this session spawned that are not announced yet, oldest first."""
        with store_errors():
            return [BatchId(str(name)) for name in self._redis.zrange(self._keys.batches(session), 0, -1)]

    def children(self, session: SessionKey) -> list[Run]:
        """The newest thousand runs this session spawned, in order, settled or not."""
        with store_errors():
            names = self._redis.zrange(self._keys.children(session), 0, -1)
        return self._reader.some_runs([RunId(str(name)) for name in names])

    def live(self, session: SessionKey, upto: int | None = None) -> list[Run]:
        """Its children that have not settled."""
        with store_errors():
            names = self._redis.zrangebyscore(self._keys.live(session), "-inf", "+inf" if upto is None else upto)
        return self._reader.some_runs([RunId(str(name)) for name in names])

    def counts(self, session: SessionKey, root: SessionKey) -> tuple[int, int]:
        """Unsettled children of the session, and unsettled runs of its tree."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zcard(self._keys.live(session))
            pipe.zcard(self._keys.tree(root))
            children, tree = pipe.execute()
        return children, tree

    def announce(
        self,
        batch: Batch,
        session: SessionKey,
        lane: Lane,
        message: str,
        message_id: MessageId,
        *,
        authority: Authority,
        wake: str,
        run: RunId,
        shown: Sequence[dict[str, Any]],
        to_chat: Delivery = NO_DELIVERY,
    ) -> Announced | None:
        """Give the results to the parent, or to the session above it if it has vanished; None when there is nothing to
        do (yet, or no longer). Safe to repeat. `to_chat`: what the parent's chat is sent if the results come too late.

        Raises:
            Vanished: the parent is gone, and it is for the session above it.
        """
        k, s = self._keys, session
        # The parent has vanished, and the results go one session up.
        climbs = int(session != batch.parent_session)
        asked = batch.above_id if climbs else batch.parent_session_id
        follow_up = own_batch(run)
        reply = run_script(
            self._redis,
            "announce",
            keys={
                **k.shared("due", "runs", "archives", "sessions", "outgoing"),
                **k.for_session(s, "row", "ctl", "inbox", "receipts", "events"),
                **k.shared("places", "places_apart"),
                "batch": k.batch(batch.id),
                "open": k.open(batch.id),
                "batches": k.batches(batch.parent_session),
                "parent_key": k.run(batch.parent_run),
                "run_key": k.run(run),
                "queue": k.broker_queue(lane),
                "next_batch": k.batch(follow_up),
                "next_open": k.open(follow_up),
                "archive": k.archive(asked),
            },
            args={
                "batch_id": batch.id,
                "parent": s,
                "message": message,
                "id": message_id,
                "authority": authority,
                "run": run,
                "lane": lane,
                "agent": agent_of(s),
                "rewake_ms": self._rewake_ms,
                "wake_message": wake,
                "shown": json.dumps(list(shown)),
                "climbs": climbs,
                "delivery": to_chat.as_json,
            },
        )
        if reply[0] == "vanished":
            raise Vanished(batch.parent_session)
        if reply[0] != "announced":
            return None
        _, how, woken, settles = reply
        return Announced(BatchState(how), RunId(woken) if woken else None, bool(settles))

    def tries(self, batch_id: BatchId) -> int:
        """How often its announce has failed; read by itself, because the record may be what is broken."""
        with store_errors():
            raw = str(self._redis.hget(self._keys.batch(batch_id), "tries") or "")
        return int(raw) if raw.isdigit() else 0

    def announce_failed(self, batch_id: BatchId, error: str, delay_ms: int) -> None:
        """Note a failed try; the next one is so much later."""
        k = self._keys
        record = k.batch(batch_id)
        write(
            self._redis,
            (record, "HINCRBY", "tries", 1),
            (record, "HSET", "last_error", error),
            # XX: an announce that succeeded meanwhile must not become due again.
            (k.due, "ZADD", "XX", "INCR", delay_ms, BATCH + batch_id),
        )

    def block(
        self,
        batch_id: BatchId,
        error: str,
        partial: Callable[[SessionKey, RunId], str] = lambda session, run: "",
        to_chat: Callable[[SessionKey], Delivery] = lambda session: NO_DELIVERY,
    ) -> RunId | None:
        """Note that the last try failed. Returns the child's run that waited for it, if that is settled now.

        `partial`: what a child that waits for the batch had written so far. `to_chat`: what the chat of the session is
        sent that asked for the results, if it is nobody's child.
        """
        k = self._keys
        with store_errors():
            # Read by themselves, because the record may be what is broken.
            about = self._redis.hmget(k.batch(batch_id), ["parent_session", "parent_run"])
        # Empty if the record has lost them. The script then blocks the batch without ending any wait.
        session, run = (str(each or "") for each in about)
        _, *settled = run_script(
            self._redis,
            "block_batch",
            keys={
                **k.for_session(session, "row", "ctl", "events"),
                **k.shared("due", "outgoing"),
                "batch": k.batch(batch_id),
                "parent_key": k.run(run),
            },
            args={
                "batch_id": batch_id,
                "parent": session,
                "why": error,
                "partial": partial(SessionKey(session), RunId(run)) if run else "",
                "delivery": (to_chat(SessionKey(session)) if session else NO_DELIVERY).as_json,
            },
        )
        return RunId(run) if settled == [1] else None

    def retry(self, batch_id: BatchId) -> bool:
        """Let a failed or blocked announce be tried again now; False when there is nothing to try."""
        k = self._keys
        return bool(
            run_script(
                self._redis,
                "retry_announce",
                keys={"due": k.due, "batch": k.batch(batch_id)},
                args={
                    "id": batch_id,
                },
            )[0]
            == "due"
        )

    def forget(self, batch_id: BatchId, session: SessionKey) -> None:
        """A blocked batch is kept no longer: its session forgets it, unless it was tried again since."""
        k, item = self._keys, f"{FORGET}{batch_id} {session}"
        run_script(
            self._redis,
            "forget",
            keys={"batches": k.batches(session), "due": k.due, "batch": k.batch(batch_id)},
            args={
                "id": batch_id,
                "item": item,
            },
        )

    def stop_order(self, session: SessionKey, run: RunId | None = None) -> StopOrder | None:
        """Which children of the session, or of one of its runs, are to be stopped."""
        with store_errors():
            raw = self._redis.hget(self._keys.stop_orders, stop_order_name(session, run))
        return StopOrder(**record_fields(raw, f"order to stop children of {session}")) if raw else None

    def children_stopped(self, session: SessionKey, done: StopOrder) -> None:
        """Remove the order that was carried out, unless it covers more children by now."""
        k, name = self._keys, stop_order_name(session, done.run)
        run_script(
            self._redis,
            "children_stopped",
            keys={**k.shared("stop_orders", "due")},
            args={
                "order": name,
                "item": STOP_CHILDREN + name,
                "upto": done.upto,
            },
        )


def _child_keys(k: Keys, child: NewChild) -> list[str]:
    of_session = k.for_session(child.session, "row", "ctl", "inbox", "receipts", "events", "log")
    return [*of_session.values(), k.run(child.run), k.batch(child.batch), k.open(child.batch)]


def as_batch(raw: dict[str, str]) -> Batch:
    check_form(raw.get("v"), f"batch {raw.get('id')}")
    return Batch.model_validate({**raw, "members": json.loads(raw.get("members", "[]"))})
