"""The blocking and the asyncio reader over one real Redis, and records as scripts would leave them behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, Protocol, TypeVar

import pytest
import redis as redis_py
from redis.asyncio import Redis as AsyncRedis

from openclaw_workers.client.aio import AsyncReader
from openclaw_workers.client.blocking import BlockingReader
from openclaw_workers.client.protocol import Steps, Update
from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionKey
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.tree_queries import Trees
from openclaw_workers.store.workers import Workers
from tests.support.redis_server import RedisServer

SESSION = SessionKey("agent:main:followed")
TIMEOUT_SECONDS = 2.0

T = TypeVar("T")


class AnyReader(Protocol):
    def follow(self, steps: Steps[Any]) -> Iterator[Update]: ...

    def result(self, steps: Steps[T]) -> T: ...


class AsyncOnLoop:
    """The asyncio reader behind the blocking one's methods."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._loop = asyncio.new_event_loop()
        self._redis = AsyncRedis.from_url(url, decode_responses=True, socket_timeout=TIMEOUT_SECONDS)
        self._reader = AsyncReader(self._redis, keys, timeout_seconds=TIMEOUT_SECONDS)

    def follow(self, steps: Steps[Any]) -> Iterator[Update]:
        updates = self._reader.follow(steps)
        while (update := self._run(self._next(updates))) is not None:
            yield update

    def result(self, steps: Steps[T]) -> T:
        return self._run(self._reader.result(steps))

    def close(self) -> None:
        self._run(self._redis.aclose())
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _next(self, updates: AsyncIterator[Update]) -> Update | None:
        return await anext(updates, None)


class Records:
    """Writes what the scripts would have written."""

    def __init__(self, redis: redis_py.Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._seq = 0

    def event(self, kind: str, *, missed: int = 0, **data: object) -> None:
        self._seq += 1 + missed
        fields = {"type": kind, "seq": self._seq, "at": 1, "data": json.dumps(data)}
        self._redis.xadd(self._keys.events(SESSION), fields)  # type: ignore[arg-type]

    def receipt(self, message: MessageId, state: str, run: RunId | None = None) -> None:
        self._redis.hset(self._keys.receipts(SESSION), message, json.dumps({"state": state, "run": run}))

    def run(self, run: RunId, state: str, **fields: str) -> None:
        record = {"id": run, "session_key": SESSION, "state": state, **fields}
        self._redis.hset(self._keys.run(run), mapping=record)  # type: ignore[arg-type]

    def child(self, run: RunId, parent: RunId, batch: BatchId) -> None:
        self.run(run, "running", parent_run_id=parent, batch=batch)
        self._redis.zadd(self._keys.children(SESSION), {run: 1})

    def batch(self, batch: BatchId, state: str, parent: RunId, members: list[RunId], **fields: str) -> None:
        record = {"id": batch, "state": state, "mode": "batch", "members": json.dumps(members), "created_at": "1"}
        record |= {"parent_session": SESSION, "parent_session_id": "sid", "parent_run": parent, "root": SESSION}
        self._redis.hset(self._keys.batch(batch), mapping=dict(record | fields))  # type: ignore[arg-type]
        self._redis.zadd(self._keys.batches(SESSION), {batch: 1})

    def damage_run(self, run: RunId) -> None:
        self._redis.hset(self._keys.run(run), "attempts", "no JSON")


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[redis_py.Redis]:
    with redis_server.client() as client:
        yield client


@pytest.fixture
def records(redis: redis_py.Redis, namespace: str) -> Records:
    return Records(redis, Keys(namespace))


@pytest.fixture(params=["blocking", "asyncio"])
def reader(
    request: pytest.FixtureRequest, redis: redis_py.Redis, redis_server: RedisServer, namespace: str
) -> Iterator[AnyReader]:
    keys = Keys(namespace)
    if request.param == "asyncio":
        on_loop = AsyncOnLoop(redis_server.url, keys)
        yield on_loop
        on_loop.close()
        return
    stored = Reader(redis, keys)
    yield BlockingReader(
        stored,
        Inbox(redis, keys, stored, rewake_ms=4_000, grant_ms=4_000),
        Tree(redis, keys, stored, rewake_ms=4_000),
        Trees(redis, keys, stored),
        Workers(redis, keys, lease_ms=8_000),
        timeout_seconds=TIMEOUT_SECONDS,
    )
