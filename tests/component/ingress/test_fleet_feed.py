"""What waits for a lane is one number everywhere, whichever queues it waits in."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import redis

from ingress.events.connect import connect_async
from ingress.events.fleet import FleetFeed
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.metrics import Metrics
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.places import MOVING
from openclaw_workers.store.wake_messages import WOKEN_AT
from tests.support.redis_server import RedisServer

PLACE = "a" * 32
EXPECTED = {Lane.MAIN: 3, Lane.SUBAGENT: 1, Lane.SERVICE: 0}


async def first_change(url: str, keys: Keys) -> dict[str, Any]:
    """What a viewer of the page is told first."""
    client = connect_async(url, timeout_seconds=2)
    feed = FleetFeed(client, keys)
    running = asyncio.create_task(feed.run())
    async with feed.watch() as viewer:
        async with asyncio.timeout(20):
            while not (shown := await viewer.take(1)):
                continue
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await client.aclose()
    return dict(shown[0].event.data)


def test_status_metrics_and_the_page_count_the_queues_of_places_too(
    redis_client: redis.Redis, redis_server: RedisServer, namespace: str
) -> None:
    keys = Keys(namespace)
    redis_client.hset(keys.places, mapping={"main": PLACE, "other": PLACE, "third": f"{MOVING}m1"})
    for name, seconds in (("main", 5), (f"main@{PLACE}", 90), (f"main@{PLACE}", 60), (f"subagent@{PLACE}", 1)):
        wake = {"headers": {WOKEN_AT: now_ms() - seconds * 1000}}
        redis_client.lpush(keys.broker_queue(name), json.dumps(wake))

    levels = Metrics(redis_client, keys).levels()
    assert levels.queued == EXPECTED
    assert 90 <= levels.queue_age_seconds[Lane.MAIN] < 120, "the oldest one waits in the queue of a place"
    assert {lane: queue.wakes for lane, queue in Overview(redis_client, keys).queues().items()} == EXPECTED
    assert asyncio.run(first_change(redis_server.url, keys))["queued"] == EXPECTED
