"""What is exported as metrics: counts of a host's processes, and how full queues are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import BATCH, FORGET, Keys
from openclaw_workers.store.lane_queues import lane_queues
from openclaw_workers.store.pipelines import each_answer
from openclaw_workers.store.wake_messages import WOKEN_AT

KEPT_SECONDS = 7 * 86_400
SCANNED_AT_ONCE = 1000

Counts = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Levels:
    """The installation at one moment."""

    queued: Mapping[Lane, int]
    queue_age_seconds: Mapping[Lane, float]
    """Age of the oldest wake-up that no worker has fetched."""
    running: int
    sessions: int
    sweep_lag_seconds: float
    """How long the oldest due item has been due."""
    announces_pending: int
    announces_blocked: int
    deliveries_waiting: int
    deliveries_unsent: int
    """Messages to chats that are unknown or failed."""


class Metrics:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def add(self, host: str, counts: Counts) -> None:
        """Add what a process of this host has counted. The sums outlive the process."""
        key = self._keys.metrics(host)
        with store_errors(), self._redis.pipeline(transaction=True) as pipe:
            for series, amount in counts.items():
                # Added, not set: several processes of the host count under the same names.
                pipe.hincrbyfloat(key, json.dumps(series), amount)
            pipe.expire(key, KEPT_SECONDS)
            pipe.execute()

    def counts(self, host: str) -> Counts:
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.metrics(host))
        return {tuple(json.loads(series)): float(amount) for series, amount in found.items()}

    def levels(self) -> Levels:
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.zcard(k.running)
            pipe.zcard(k.sessions)
            pipe.zrange(k.due, 0, 0, withscores=True)
            pipe.xlen(k.outgoing)
            pipe.zcard(k.outbox_waiting)
            pipe.zcard(k.outbox_kept)
            pipe.hvals(k.places)
            (seconds, micros), running, sessions, due, new, waiting, unsent, bindings = each_answer(pipe)
        now = seconds * 1000 + micros // 1000
        pending, blocked = self._announces()
        queues = {lane: self._queue(each, now) for lane, each in lane_queues(k, bindings or ()).items()}
        return Levels(
            queued={lane: count for lane, (count, _) in queues.items()},
            queue_age_seconds={lane: age for lane, (_, age) in queues.items()},
            running=running or 0,
            sessions=sessions or 0,
            sweep_lag_seconds=max(0.0, (now - due[0][1]) / 1000) if due else 0.0,
            announces_pending=pending,
            announces_blocked=blocked,
            deliveries_waiting=(new or 0) + (waiting or 0),
            deliveries_unsent=unsent or 0,
        )

    def _queue(self, queues: Sequence[str], now: int) -> tuple[int, float]:
        """How many wake-ups wait in the queues of a lane, and the age of the oldest in seconds."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for queue in queues:
                pipe.llen(queue)
                # Wake-ups are pushed on the left, so the oldest is the last one.
                pipe.lindex(queue, -1)
            answers = each_answer(pipe)
        return sum(count or 0 for count in answers[::2]), max(_age(raw, now) for raw in answers[1::2])

    def _announces(self) -> tuple[int, int]:
        """Settled batches are due; blocked ones are due to be forgotten. The index is read in small portions."""
        pending, blocked, cursor = set[str](), set[str](), 0
        while True:
            with store_errors():
                reply: Any = self._redis.zscan(self._keys.due, cursor, count=SCANNED_AT_ONCE)
            cursor, items = int(reply[0]), [str(item) for item, _ in reply[1]]
            # Sets, because ZSCAN may return an item twice.
            pending.update(item for item in items if item.startswith(BATCH))
            blocked.update(item for item in items if item.startswith(FORGET))
            if cursor == 0:
                return len(pending), len(blocked)


def _age(raw: Any, now: int) -> float:
    """Seconds since a wake-up was published; 0 if there is none, or it is damaged."""
    try:
        return max(0.0, (now - int(json.loads(str(raw))["headers"][WOKEN_AT])) / 1000) if raw else 0.0
    except (ValueError, KeyError, TypeError):
        return 0.0
