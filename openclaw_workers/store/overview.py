"""The whole installation at a glance: who holds what, what waits on each lane, how messages stand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import TURN, Keys
from openclaw_workers.store.lane_queues import lane_queues
from openclaw_workers.store.pipelines import each_answer

PAGE = 500
NOTHING = (None,) * 4


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A session that a worker holds at this moment."""

    session: SessionKey
    run: RunId
    worker: WorkerId
    attempt: int
    lease_left_ms: int
    """Below zero when the owner is silent and nobody has taken over yet."""
    taken_at: int


@dataclass(frozen=True, slots=True)
class Queue:
    """What stands before the workers of one lane."""

    wakes: int
    """Wake-ups that no worker has fetched yet."""
    slots: int
    """Taken of the lane's cap; 0 where it has none."""
    line: int
    """Sessions waiting for a slot."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Messages of one session that no run has taken yet."""

    session: SessionKey
    messages: int
    oldest_at: int | None
    """None where the oldest one is damaged."""


class Overview:
    """Reads many sessions at once; for people who look, not for turns."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def held(self) -> list[HeldLease]:
        """Running sessions, longest running first."""
        k = self._keys
        with store_errors():
            running: Any = self._redis.zrange(k.running, 0, -1, withscores=True)
            with self._redis.pipeline(transaction=False) as pipe:
                pipe.time()
                for session, _ in running:
                    pipe.hmget(k.ctl(str(session)), ["run", "owner", "attempt", "lease_until"])
                (seconds, micros), *looked = each_answer(pipe)
        now = seconds * 1000 + micros // 1000
        # A damaged control record answers None, and must not hide the other sessions.
        found = [each or NOTHING for each in looked]
        return [
            HeldLease(
                SessionKey(session), RunId(run), WorkerId(owner), _whole_number(attempt) or 1, ends - now, int(at)
            )
            for (session, at), (run, owner, attempt, until) in zip(running, found, strict=True)
            if run and owner and (ends := _whole_number(until))  # otherwise it ended meanwhile, or is damaged
        ]

    def queues(self) -> dict[Lane, Queue]:
        k = self._keys
        with store_errors():
            bindings: Any = self._redis.hvals(k.places)
            found = {}
            for lane, queues in lane_queues(k, bindings).items():
                with self._redis.pipeline(transaction=False) as pipe:
                    pipe.zcard(k.slots(lane))
                    pipe.zcard(k.line(lane))
                    for queue in queues:
                        pipe.llen(queue)
                    slots, line, *wakes = pipe.execute()
                found[lane] = Queue(sum(wakes), slots, line)
        return found

    def waiting(self) -> list[Waiting]:
        """Every session with messages that wait; a session has an entry in `due` as long as it has work."""
        found: list[Waiting] = []
        for sessions in self._sessions_with_work():
            with store_errors(), self._redis.pipeline(transaction=False) as pipe:
                for session in sessions:
                    pipe.zcard(self._keys.inbox(session))
                    pipe.zrange(self._keys.inbox(session), 0, 0)
                replies = each_answer(pipe)
            for session, messages, head in zip(sessions, replies[::2], replies[1::2], strict=True):
                if head:
                    found.append(Waiting(session, messages, _whole_number(_fact(head[0], "accepted_at"))))
        return found

    def receipts(self, session: SessionKey) -> Counter[str]:
        """How many messages of a session stand how."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hvals(self._keys.receipts(session))
            (raws,) = each_answer(pipe)
        return Counter(str(_fact(raw, "state") or "unreadable") for raw in (raws or []))

    def is_listed(self, session: SessionKey) -> bool:
        """Whether there is such a session, readable or not."""
        with store_errors():
            return self._redis.zscore(self._keys.sessions, session) is not None

    def has_run(self, run: RunId) -> bool:
        """Whether there is a record of it, readable or not."""
        with store_errors():
            return bool(self._redis.exists(self._keys.run(run)))

    def session_keys(self, most: int = 1000) -> list[SessionKey]:
        with store_errors():
            return [SessionKey(str(key)) for key in self._redis.zrange(self._keys.sessions, 0, most - 1, desc=True)]

    def totals(self) -> dict[str, int]:
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zcard(k.sessions)
            pipe.zcard(k.runs)
            pipe.zcard(k.running)
            pipe.llen(k.quarantine)
            pipe.xlen(k.outgoing)
            pipe.zcard(k.outbox_waiting)
            pipe.zcard(k.outbox_kept)
            sessions, runs, running, quarantined, new, sorted_by_route, unsent = (
                count or 0 for count in each_answer(pipe)
            )
        return {
            "sessions": sessions,
            "runs": runs,
            "running": running,
            "quarantined": quarantined,
            "outboxQueued": new + sorted_by_route,
            "outboxUnsent": unsent,
        }

    def _sessions_with_work(self) -> Iterator[Sequence[SessionKey]]:
        with store_errors():
            due = [str(item) for item in self._redis.zrange(self._keys.due, 0, -1)]
        sessions = [SessionKey(item.removeprefix(TURN)) for item in due if item.startswith(TURN)]
        for start in range(0, len(sessions), PAGE):
            yield sessions[start : start + PAGE]


def _fact(raw: Any, name: str) -> Any:
    """A field of a stored record; None where the record is damaged, which must not hide the others."""
    try:
        return json.loads(raw)[name]
    except (ValueError, KeyError, TypeError):
        return None


def _whole_number(value: Any) -> int | None:
    try:
        return int(value)
    except (ValueError, TypeError):
        return None
