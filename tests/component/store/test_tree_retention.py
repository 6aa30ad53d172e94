"""Blocked batches, and how long records of children are kept."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import BatchId, MessageId
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import BatchState
from tests.component.store.harness import SESSION, StoreHarness
from tests.component.store.tree_steps import A, end_child, take_child, tree


def blocked_below(store: StoreHarness) -> None:
    """`a` is parked, and what `b` found cannot be delivered to it."""
    store.commit(tree(store), "waiting")
    end_child(store, "b")


def test_a_child_whose_childrens_results_are_blocked_ends_with_that_and_its_parent_hears(store: StoreHarness) -> None:
    """I4: nobody waits for ever for what cannot be delivered."""
    blocked_below(store)

    assert store.tree.block(BatchId("batch-2"), "no room") == "run-a"

    run = store.run("run-a")
    assert (run.state, run.outcome, run.error) == (
        RunState.ERROR,
        "error",
        "the results of its sub-agents could not be delivered (no room)",
    )
    assert store.ctl("state", A) == "idle"
    announced = store.announce()
    assert announced is not None
    assert announced.how is BatchState.DELIVERED

    # And they can be delivered after all: as a message to a child that has ended, announced by itself
    assert store.tree.retry(BatchId("batch-2"))
    announced = store.announce("batch-2", run="run-a2")
    assert announced is not None
    assert (announced.how, announced.wake) == (BatchState.DELIVERED, "run-a2")
    assert store.run("run-a2").batch == "batch-run-a2"
    assert store.run("run-a").settled_at is not None


def test_a_child_that_timed_out_is_settled_when_its_childrens_results_are_blocked(store: StoreHarness) -> None:
    child = tree(store)
    end_child(store, "b")
    assert store.commit(child, state=RunState.TIMEOUT, reason="timeout").how == "unsettled"

    assert store.tree.block(BatchId("batch-2"), "no room") == "run-a"

    assert store.run("run-a").state is RunState.TIMEOUT
    assert store.announce() is not None


def test_a_child_at_work_ends_by_itself_when_its_childrens_results_are_blocked(store: StoreHarness) -> None:
    child = tree(store)
    end_child(store, "b")

    assert store.tree.block(BatchId("batch-2"), "no room") is None

    assert store.commit(child, "done").how == "settled"


def test_what_was_announced_is_no_longer_blocked(store: StoreHarness) -> None:
    blocked_below(store)
    store.announce("batch-2")

    assert store.tree.block(BatchId("batch-2"), "too late") is None

    batch = store.tree.batch(BatchId("batch-2"))
    assert batch is not None
    assert (batch.state, batch.last_error) == (BatchState.DELIVERED, "")


SEVEN_DAYS = 7 * 86_400


def kept(store: StoreHarness, *names: str) -> list[str]:
    """How long records are kept: for ever, for seven days from now, or less."""
    found = []
    for name in names:
        key = store.keys.batch(name) if name.startswith("batch-") else store.keys.run(name)
        seconds = int(store.redis.ttl(key))
        found.append(
            "gone" if seconds == -2 else "on" if seconds == -1 else "7d" if seconds > SEVEN_DAYS - 60 else "less"
        )
    return found


def test_a_childs_record_is_kept_until_its_batch_is_announced_and_seven_days_from_then(store: StoreHarness) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", "b")
    store.commit(parent)
    end_child(store, "a")
    assert kept(store, "run-a") == ["on"], "its sibling may be at work for longer than a record is kept"
    end_child(store, "b")
    assert kept(store, "run-a", "run-b", "batch-1") == ["on"] * 3

    store.announce()

    assert kept(store, "run-a", "run-b", "batch-1") == ["7d"] * 3


def test_results_of_a_blocked_batch_are_kept_seven_days_from_then_and_on_while_they_are_tried_again(
    store: StoreHarness,
) -> None:
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a", "b")
    store.commit(parent)
    end_child(store, "a")
    end_child(store, "b")
    records = ("run-a", "run-b", "batch-1")

    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 3

    # However old they have grown, they are not lost while the delivery is tried again
    for name in records[:2]:
        store.redis.expire(store.keys.run(name), 60)
    assert store.tree.retry(BatchId("batch-1"))
    assert kept(store, *records) == ["on"] * 3

    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 3


def test_what_a_child_carries_up_is_kept_as_long_as_its_own_result(store: StoreHarness) -> None:
    # Given a child that failed, and whose own child was stopped for that
    child = tree(store)
    store.commit(child, state=RunState.ERROR, reason="error")
    end_child(store, "b")
    announced = store.announce("batch-2")
    assert announced is not None
    assert announced.how is BatchState.FOLDED
    records = ("run-a", "run-b", "batch-1", "batch-2")
    assert kept(store, *records) == ["on"] * 4

    # Then all of it is kept while it cannot be told, and goes with what it was told in
    store.tree.block(BatchId("batch-1"), "no room")
    assert kept(store, *records) == ["7d"] * 4
    assert store.tree.retry(BatchId("batch-1"))
    assert kept(store, *records) == ["on"] * 4
    store.announce()
    assert kept(store, *records) == ["7d"] * 4


def test_an_answer_its_parent_waited_for_in_vain_is_kept_until_it_is_announced(store: StoreHarness) -> None:
    # Given a follow-up that is left to a call, whose run ends before it has read it
    store.say("one")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    end_child(store, "a")
    store.announce()
    taken = store.take()
    store.say("and?", id="and", session=A, run="run-a2")
    store.exchanges.wait(A, MessageId("and"), SESSION, 60_000)
    store.commit(take_child(store, "a", run="run-a2"))
    announced = store.announce("batch-run-a2")
    assert announced is not None
    assert (announced.how, kept(store, "run-a2")) == (BatchState.NONE, ["7d"])

    store.commit(taken)

    assert kept(store, "run-a2", "batch-run-a2") == ["on"] * 2


def test_that_an_answer_was_cut_off_stays_with_it_whatever_ends_the_run(store: StoreHarness) -> None:
    # Given a child whose answer stops at the output limit, and which wants no turn for what its own child found
    child = tree(store, record={"wake_on_descendant_settle": "0"})
    assert store.commit(child, "half an ans", reason="length").how == "parked"
    end_child(store, "b")

    assert store.announce("batch-2") is not None

    run = store.run("run-a")
    assert (run.state, run.text, run.cut) == (RunState.OK, "half an ans", True)


@pytest.mark.parametrize(("last", "reported", "cut"), [("", "half an ans", True), ("whole", "whole", False)])
def test_that_an_answer_was_cut_off_is_said_of_the_one_that_is_reported(
    store: StoreHarness, last: str, reported: str, cut: bool
) -> None:
    child = tree(store)
    store.commit(child, "half an ans", reason="length")
    end_child(store, "b")
    store.announce("batch-2")

    store.commit(take_child(store, "a"), last)

    run = store.run("run-a")
    assert (run.text, run.cut) == (reported, cut)
