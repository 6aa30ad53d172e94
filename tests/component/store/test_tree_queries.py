"""Reading whole trees, and trying a blocked announce again."""

from __future__ import annotations

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.tree_queries import Trees
from tests.component.store.harness import SESSION, StoreHarness, child_key

FIRST, SECOND = BatchId("batch-1"), BatchId("batch-2")


def trees(store: StoreHarness) -> Trees:
    return Trees(store.redis, store.keys, store.reader)


def spawned(store: StoreHarness) -> None:
    """A root with one child, which has one itself."""
    store.say("one")
    root = store.take()
    store.spawn(root, "a")
    store.commit(root)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch=SECOND)
    store.commit(child)


def settle_b(store: StoreHarness) -> None:
    store.commit(store.take(session=child_key("b"), run="run-b"))


def test_a_tree_is_read_with_all_its_levels_and_the_run_that_began_it(store: StoreHarness) -> None:
    spawned(store)
    (first,) = [run.id for run in store.reader.runs() if run.session_key == SESSION]
    assert [run.id for run in trees(store).runs(SESSION)] == [first, "run-a", "run-b"]


def test_only_settled_batches_that_nobody_heard_of_are_undelivered(store: StoreHarness) -> None:
    spawned(store)
    assert trees(store).undelivered() == []

    settle_b(store)
    assert [batch.id for batch in trees(store).undelivered()] == [SECOND]

    store.announce(SECOND)
    assert trees(store).undelivered() == []


def test_a_damaged_batch_or_receipt_hides_no_other(store: StoreHarness) -> None:
    spawned(store)
    settle_b(store)
    store.redis.hset(store.keys.batch(FIRST), "state", "no state")
    store.redis.hset(store.keys.receipts(SESSION), f"announce-{FIRST}", "{half")
    store.redis.set(store.keys.batches("agent:main:other"), "junk")
    store.redis.zadd(store.keys.sessions, {"agent:main:other": 1})

    assert [batch.id for batch in trees(store).undelivered()] == [SECOND]
    assert [run.id for run in trees(store).runs(SESSION)][1:] == ["run-a", "run-b"]
    store.redis.delete(store.keys.batch(FIRST), store.keys.receipts(SESSION))
    for key in (store.keys.batch(FIRST), store.keys.receipts(SESSION)):
        store.redis.set(key, "junk")
    assert trees(store).batches([FIRST, SECOND]).keys() == {SECOND}
    assert [run.id for run in trees(store).runs(SESSION)][1:] == ["run-a", "run-b"]

    assert f"batch {FIRST}" in {note["where"] for note in store.reader.quarantined()}


def test_a_blocked_announce_is_due_again_when_it_is_retried(store: StoreHarness) -> None:
    spawned(store)
    settle_b(store)
    store.tree.block(SECOND, "no room")
    above, blocked = trees(store).undelivered()
    assert (above.id, above.state) == (FIRST, BatchState.SETTLED), "whoever waited for it is let go, and told of"
    assert (blocked.state, blocked.tries, blocked.last_error) == (BatchState.BLOCKED, 1, "no room")
    assert store.redis.zscore(store.keys.due, f"batch|{SECOND}") is None

    assert store.tree.retry(SECOND)

    _, again = trees(store).undelivered()
    assert (again.state, again.tries) == (BatchState.SETTLED, 0)
    assert store.redis.zscore(store.keys.due, f"batch|{SECOND}") is not None
    assert store.redis.ttl(store.keys.batch(SECOND)) == -1, "it does not expire while it waits"


def test_what_is_at_work_or_delivered_is_not_retried(store: StoreHarness) -> None:
    spawned(store)
    assert not store.tree.retry(FIRST)
    assert not store.tree.retry(BatchId("batch-none"))
    settle_b(store)
    store.announce(SECOND)
    assert not store.tree.retry(SECOND)
