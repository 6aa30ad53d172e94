"""Near its memory limit Redis is left to what is at work: new messages and sub-agents are refused in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from openclaw_workers.errors import StoreFull
from openclaw_workers.models.ids import WorkerId
from tests.support.redis_server import RedisServer
from tests.unit.store.desk import Desk

Use = Callable[[int], None]


@pytest.fixture
def client() -> Iterator[redis.Redis]:
    with RedisServer() as server, server.client() as client:
        client.set("filler", "x" * 30_000_000)  # beside which scripts and buffers do not count
        yield client


@pytest.fixture
def desk(client: redis.Redis, namespace: str) -> Desk:
    return Desk(client, namespace)


@pytest.fixture
def use(client: redis.Redis, desk: Desk) -> Use:
    """Set the limit so that so many per cent of it are used, and let a worker look."""

    def use(percent: int) -> None:
        client.hdel(desk.keys.memory, "at")  # the last look was long ago
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / (percent + 0.5) * 100))
        desk.fleet.tick(WorkerId("w1"), {}, [])

    return use


def test_new_messages_are_refused_above_90_per_cent_and_taken_again_below_85(desk: Desk, use: Use) -> None:
    use(88)
    desk.say("one", id="one")
    use(91)
    with pytest.raises(StoreFull, match=r"nearly full \(9\d % of its maxmemory\)") as refused:
        desk.say("two", id="two")
    assert "ocw sessions delete" in (refused.value.hint or "")
    desk.say("one", id="one")  # a repeat is answered as it was first
    assert desk.waiting() == ["one"]
    use(87)
    with pytest.raises(StoreFull):
        desk.say("two", id="two")
    use(83)
    desk.say("two", id="two")
    use(87)
    desk.say("three", id="three")
    assert desk.waiting() == ["one", "two", "three"]


def test_spawning_is_refused_too_and_a_repeat_is_answered_alike(desk: Desk, use: Use) -> None:
    desk.say("one")
    taken = desk.take()
    use(91)
    (refused,) = desk.spawn(taken, "a")
    assert (refused.verdict, refused.number >= 90) == ("memory", True)
    use(50)
    assert desk.spawn(taken, "a") == [refused]
    (accepted,) = desk.spawn(taken, "b", batch="batch-2")
    assert accepted.verdict == "accepted"


def test_a_full_redis_still_tells_a_parent_that_it_may_not_spawn(desk: Desk, use: Use, client: redis.Redis) -> None:
    desk.say("one")
    taken = desk.take()
    use(120)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        client.set("anything", 1)
    assert [each.verdict for each in desk.spawn(taken, "a")] == ["memory"]


def test_what_nobody_looks_at_any_more_refuses_nothing(desk: Desk, use: Use, client: redis.Redis) -> None:
    use(91)
    assert 0 < client.ttl(desk.keys.memory) <= 10


def test_without_a_limit_nothing_is_refused(desk: Desk, client: redis.Redis) -> None:
    desk.fleet.tick(WorkerId("w1"), {}, [])
    assert client.hget(desk.keys.memory, "high") == "0"
    desk.say("one")
