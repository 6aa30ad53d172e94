"""A batch of many children costs Redis as much for each child as a small one."""

from __future__ import annotations

from openclaw_workers.domain.ids import BatchId
from tests.component.store.harness import StoreHarness
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


def test_what_is_written_for_each_child_does_not_grow_with_the_batch(namespace: str) -> None:
    """Measured by the append-only file, which holds all that a script has written."""
    with RedisServer(aof=True) as server, server.client() as client:

        def written() -> int:
            return int(client.info("persistence")["aof_current_size"])

        def bytes_each(store: StoreHarness, count: int) -> float:
            store.say("go")
            taken = store.take()
            names = [f"{count}-{number:03}" for number in range(count)]
            before = written()
            spawned = store.spawn(taken, *names, most_children=1_000, most_tree=1_000)
            assert [each.number for each in spawned] == list(range(count))
            eventually(lambda: written() > before, within=10)
            batch = store.tree.batch(BatchId("batch-1"))
            assert batch is not None
            assert list(batch.members) == [f"run-{name}" for name in names]
            return (written() - before) / count

        few, many = (
            bytes_each(StoreHarness(client, f"{namespace}-few"), 10),
            bytes_each(StoreHarness(client, f"{namespace}-many"), 400),
        )

        assert many < 1.2 * few
