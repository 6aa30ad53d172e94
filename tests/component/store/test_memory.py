"""Near its memory limit Redis is left to what is at work: new messages and sub-agents are refused in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.errors import StoreFull
from openclaw_workers.store.keys import MEMORY_NOTE
from openclaw_workers.store.memory_notes import MemoryNote, MemoryNotes
from tests.component.store.harness import StoreHarness
from tests.support.redis_server import RedisServer

Use = Callable[[int], None]


@pytest.fixture
def client() -> Iterator[redis.Redis]:
    with RedisServer() as server, server.client() as client:
        client.set("filler", "x" * 30_000_000)  # beside which scripts and buffers do not count
        yield client


@pytest.fixture
def store(client: redis.Redis, namespace: str) -> StoreHarness:
    return StoreHarness(client, namespace)


@pytest.fixture
def use(client: redis.Redis, store: StoreHarness) -> Use:
    """Set the limit so that so many per cent of it are used, and let a worker look."""

    def use(percent: int) -> None:
        client.hdel(store.keys.memory, "at")  # the last look was long ago
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / (percent + 0.5) * 100))
        store.leases.tick(WorkerId("w1"), {}, [])

    return use


def test_new_messages_are_refused_above_90_per_cent_and_taken_again_below_85(store: StoreHarness, use: Use) -> None:
    use(88)
    store.say("one", id="one")
    use(91)
    with pytest.raises(StoreFull, match=r"nearly full \(9\d % of its maxmemory\)") as refused:
        store.say("two", id="two")
    assert "ocw sessions delete" in (refused.value.hint or "")
    store.say("one", id="one")  # a repeat is answered as it was first
    assert store.waiting() == ["one"]
    use(87)
    with pytest.raises(StoreFull):
        store.say("two", id="two")
    use(83)
    store.say("two", id="two")
    use(87)
    store.say("three", id="three")
    assert store.waiting() == ["one", "two", "three"]


def test_spawning_is_refused_too_and_a_repeat_is_answered_alike(store: StoreHarness, use: Use) -> None:
    store.say("one")
    taken = store.take()
    use(91)
    (refused,) = store.spawn(taken, "a")
    assert (refused.verdict, refused.number >= 90) == ("memory", True)
    use(50)
    assert store.spawn(taken, "a") == [refused]
    (accepted,) = store.spawn(taken, "b", batch="batch-2")
    assert accepted.verdict == "accepted"


def test_a_full_redis_still_tells_a_parent_that_it_may_not_spawn(
    store: StoreHarness, use: Use, client: redis.Redis
) -> None:
    store.say("one")
    taken = store.take()
    use(120)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        client.set("anything", 1)
    assert [each.verdict for each in store.spawn(taken, "a")] == ["memory"]


def test_records_that_nobody_reads_refuse_nothing(store: StoreHarness, use: Use, client: redis.Redis) -> None:
    use(91)
    assert 0 < client.ttl(store.keys.memory) <= 10


def test_without_a_limit_nothing_is_refused(store: StoreHarness, client: redis.Redis) -> None:
    store.leases.tick(WorkerId("w1"), {}, [])
    assert client.hget(store.keys.memory, "high") == "0"
    store.say("one")


def test_a_conversation_can_be_registered_for_saving_in_a_full_redis(client: redis.Redis, store: StoreHarness) -> None:
    """Archives make room in Redis, and a note must not be lost while they do."""
    notes = MemoryNotes(client, store.keys)
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1_000_000)
    with pytest.raises(redis.ResponseError):
        client.set("plain", "x" * 1000)
    note = MemoryNote("sid", "agent:main:main", "main", "place", 7)
    notes.register(note)
    assert notes.find("sid") == note
    assert client.zscore(store.keys.due, f"{MEMORY_NOTE}sid") == 7
    notes.done("sid")
    notes.register(note)  # it is done, and stays so
    assert (found := notes.find("sid")) is not None
    assert found.is_done
    assert client.zscore(store.keys.due, f"{MEMORY_NOTE}sid") is None
