"""One reader for many viewers, on a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import redis

from ingress.events.connect import connect_async, connect_reader
from ingress.events.session_events import BLOCK_MS, Hub
from ingress.events.viewer import MOST_EVENTS, Viewer
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.store.keys import Keys
from tests.support.redis_server import RedisServer

ONE, TWO = SessionKey("agent:main:one"), SessionKey("agent:main:two")
SOON = BLOCK_MS / 1000 / 2
"""Much shorter than one read of the reader waits."""


class Watched:
    """A hub on a running reader, and a way to add events."""

    def __init__(self, client: redis.Redis, hub: Hub, keys: Keys) -> None:
        self.hub = hub
        self._client = client
        self._keys = keys
        self._seq = 0

    def add(self, session: SessionKey, count: int = 1) -> list[str]:
        found = []
        for _ in range(count):
            self._seq += 1
            fields: Any = {"type": "test", "seq": self._seq, "at": 1, "data": json.dumps({"n": self._seq})}
            found.append(str(self._client.xadd(self._keys.events(session), fields)))
        return found


def watching(client: redis.Redis, url: str, namespace: str, act: Callable[[Watched], Awaitable[None]]) -> None:
    async def run() -> None:
        keys = Keys(namespace)
        hub = Hub(connect_reader(url, timeout_seconds=2), connect_async(url, timeout_seconds=2), keys)
        reader = asyncio.create_task(hub.run())
        await act(Watched(client, hub, keys))
        reader.cancel()
        with suppress(asyncio.CancelledError):
            await reader

    asyncio.run(run())


async def taken(viewer: Viewer, count: int) -> list[str]:
    found: list[str] = []
    async with asyncio.timeout(SOON):
        while len(found) < count:
            found += [shown.event.id for shown in await viewer.take(SOON)]
    return found


def test_a_session_that_is_watched_while_the_reader_waits_is_read_at_once(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    async def act(watched: Watched) -> None:
        watched.add(ONE)
        async with watched.hub.watch(ONE, "0") as first:
            await taken(first, 1)
            before = watched.add(TWO, 3)
            async with watched.hub.watch(TWO, "0") as second:
                assert await taken(second, 3) == before
                after = watched.add(ONE)
                assert await taken(first, 1) == after

    watching(redis_client, redis_server.url, namespace, act)


def test_a_session_that_was_left_is_read_again_from_an_earlier_place(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    async def act(watched: Watched) -> None:
        ids = watched.add(ONE, 4)
        async with watched.hub.watch(TWO, "0"):  # keeps the reader waiting
            for after in ("0", ids[1], "0", ids[3], ids[0]):
                async with watched.hub.watch(ONE, after) as viewer:
                    wanted = ids[ids.index(after) + 1 :] if after in ids else ids
                    assert await taken(viewer, len(wanted)) == wanted

    watching(redis_client, redis_server.url, namespace, act)


def test_a_viewer_that_joins_is_given_what_was_read_before_and_nothing_twice(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    async def act(watched: Watched) -> None:
        ids = watched.add(ONE, 700)
        async with watched.hub.watch(ONE, "0") as first:
            assert await taken(first, 700) == ids
            async with watched.hub.watch(ONE, ids[99]) as second, watched.hub.watch(ONE, ids[-1]) as third:
                more = watched.add(ONE, 2)
                assert await taken(second, 602) == [*ids[100:], *more]
                assert await taken(third, 2) == more
                assert await taken(first, 2) == more

    watching(redis_client, redis_server.url, namespace, act)


def test_a_viewer_that_does_not_read_is_over_and_the_others_are_not(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    async def act(watched: Watched) -> None:
        watched.add(ONE)
        async with watched.hub.watch(ONE, "0") as slow, watched.hub.watch(ONE, "0") as quick:
            seen = len(await taken(quick, 1))
            for _ in range(MOST_EVENTS // 500 + 1):
                seen += len(await _added(watched, quick, 500))
            assert slow.is_over
            assert not quick.is_over
            assert await slow.take(0) == []
        assert seen > MOST_EVENTS
        assert watched.hub.watched == 0

    watching(redis_client, redis_server.url, namespace, act)


async def _added(watched: Watched, viewer: Viewer, count: int) -> list[str]:
    watched.add(ONE, count)
    return await taken(viewer, count)


def test_events_that_are_gone_are_noticed(redis_client: redis.Redis, redis_server: RedisServer, namespace: str) -> None:
    async def act(watched: Watched) -> None:
        ids = watched.add(ONE, 5)
        redis_client.xtrim(Keys(namespace).events(ONE), maxlen=3, approximate=False)
        gone = [await watched.hub.has_forgotten(ONE, after) for after in ("0", ids[0], ids[2], ids[4])]
        assert gone == [False, True, False, False]
        assert await watched.hub.last_id(ONE) == ids[-1]
        assert (await watched.hub.last_id(TWO), await watched.hub.has_forgotten(TWO, ids[0])) == ("0", False)

    watching(redis_client, redis_server.url, namespace, act)


def test_a_user_who_may_not_unblock_the_reader_is_served_all_the_same(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    redis_client.acl_setuser(
        "plain", enabled=True, passwords=["+secret"], commands=["+@all", "-client|unblock"], keys=["*"]
    )
    url = redis_server.url.replace("redis://", "redis://plain:secret@")

    async def act(watched: Watched) -> None:
        async with watched.hub.watch(ONE, "0"):
            await asyncio.sleep(0.2)
            async with watched.hub.watch(TWO, "0"):
                pass
            ids = watched.add(TWO)
            async with watched.hub.watch(TWO, "0") as viewer:
                async with asyncio.timeout(BLOCK_MS / 1000 + 5):
                    assert [each.event.id for each in await viewer.take(BLOCK_MS / 1000 + 5)] == ids

    try:
        watching(redis_client, url, namespace, act)
    finally:
        redis_client.acl_deluser("plain")
