"""Reading whole trees, and trying a blocked announce again."""

from __future__ import annotations

from openclaw_workers.models.ids import BatchId
from openclaw_workers.models.tree import BatchState
from openclaw_workers.store.trees import Trees
from tests.unit.store.desk import SESSION, Desk, child_key

FIRST, SECOND = BatchId("batch-1"), BatchId("batch-2")


def trees(desk: Desk) -> Trees:
    return Trees(desk.redis, desk.keys, desk.reader)


def spawned(desk: Desk) -> None:
    """A root with one child, which has one itself."""
    desk.say("one")
    root = desk.take()
    desk.spawn(root, "a")
    desk.commit(root)
    child = desk.take(session=child_key("a"), run="run-a")
    desk.spawn(child, "b", batch=SECOND)
    desk.commit(child)


def settle_b(desk: Desk) -> None:
    desk.commit(desk.take(session=child_key("b"), run="run-b"))


def test_a_tree_is_read_with_all_its_levels_and_the_run_that_began_it(desk: Desk) -> None:
    spawned(desk)
    (first,) = [run.id for run in desk.reader.runs() if run.session_key == SESSION]
    assert [run.id for run in trees(desk).runs(SESSION)] == [first, "run-a", "run-b"]


def test_only_settled_batches_that_nobody_heard_of_are_undelivered(desk: Desk) -> None:
    spawned(desk)
    assert trees(desk).undelivered() == []

    settle_b(desk)
    assert [batch.id for batch in trees(desk).undelivered()] == [SECOND]

    desk.announce(SECOND)
    assert trees(desk).undelivered() == []


def test_a_damaged_batch_or_receipt_hides_no_other(desk: Desk) -> None:
    spawned(desk)
    settle_b(desk)
    desk.redis.hset(desk.keys.batch(FIRST), "state", "no state")
    desk.redis.hset(desk.keys.receipts(SESSION), f"announce-{FIRST}", "{half")
    desk.redis.set(desk.keys.batches("agent:main:other"), "junk")
    desk.redis.zadd(desk.keys.sessions, {"agent:main:other": 1})

    assert [batch.id for batch in trees(desk).undelivered()] == [SECOND]
    assert [run.id for run in trees(desk).runs(SESSION)][1:] == ["run-a", "run-b"]
    desk.redis.delete(desk.keys.batch(FIRST), desk.keys.receipts(SESSION))
    for key in (desk.keys.batch(FIRST), desk.keys.receipts(SESSION)):
        desk.redis.set(key, "junk")
    assert trees(desk).batches([FIRST, SECOND]).keys() == {SECOND}
    assert [run.id for run in trees(desk).runs(SESSION)][1:] == ["run-a", "run-b"]

    assert f"batch {FIRST}" in {note["where"] for note in desk.reader.quarantined()}


def test_a_blocked_announce_is_due_again_when_it_is_retried(desk: Desk) -> None:
    spawned(desk)
    settle_b(desk)
    desk.tree.block(SECOND, "no room")
    above, blocked = trees(desk).undelivered()
    assert (above.id, above.state) == (FIRST, BatchState.SETTLED), "whoever waited for it is let go, and told of"
    assert (blocked.state, blocked.tries, blocked.last_error) == (BatchState.BLOCKED, 1, "no room")
    assert desk.redis.zscore(desk.keys.due, f"batch|{SECOND}") is None

    assert desk.tree.retry(SECOND)

    _, again = trees(desk).undelivered()
    assert (again.state, again.tries) == (BatchState.SETTLED, 0)
    assert desk.redis.zscore(desk.keys.due, f"batch|{SECOND}") is not None
    assert desk.redis.ttl(desk.keys.batch(SECOND)) == -1, "it does not expire while it waits"


def test_what_is_at_work_or_delivered_is_not_retried(desk: Desk) -> None:
    spawned(desk)
    assert not desk.tree.retry(FIRST)
    assert not desk.tree.retry(BatchId("batch-none"))
    settle_b(desk)
    desk.announce(SECOND)
    assert not desk.tree.retry(SECOND)
