"""Children with several turns."""

from __future__ import annotations

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import MessageState, QueueMode
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.turn_records import Lease, Outcome
from tests.component.store.harness import SESSION, StoreHarness, child_key
from tests.component.store.tree_steps import A, B, end_child, interrupted, take_child, tree


def test_a_later_run_of_a_child_does_not_wait_for_what_an_earlier_one_spawned(store: StoreHarness) -> None:
    assert store.commit(interrupted(store)).how == "settled"
    assert store.run("run-a").settled_at is None

    # And the earlier one is settled by the end of what it spawned, which its own announce carries up
    store.stop(session=B)
    lease = Lease(B, RunId("run-b"), Lane.MAIN, store.ctl("lease", B))
    outcome = Outcome(RunState.KILLED, "parent-ended", MessageState.CANCELLED)
    store.turns().commit(lease, "main", outcome, next_run=RunId("run-x"))
    announced = store.announce("batch-2")
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.FOLDED, True)
    assert store.run("run-a").settled_at is not None
    assert store.redis.zcard(store.keys.live(SESSION)) == 0


def test_a_later_run_that_fails_is_settled_whatever_an_earlier_one_spawned(store: StoreHarness) -> None:
    committed = store.commit(interrupted(store), state=RunState.ERROR, reason="error")

    assert committed.how == "settled"
    assert store.run("run-a2").settled_at is not None


def test_a_child_waits_for_a_child_of_its_own_that_was_spoken_to_again(store: StoreHarness) -> None:
    # Given a child at work, whose own child has reported and is asked something more
    child = tree(store)
    end_child(store, "b")
    store.announce("batch-2")
    store.say("and?", session=B, run="run-b2")

    # When it has read the report and would end
    assert store.commit(child).how == "again"
    assert store.commit(take_child(store, "a")).how == "parked"

    # Then it is woken by the second one
    store.commit(take_child(store, "b", run="run-b2"))
    announced = store.announce("batch-run-b2")
    assert announced is not None
    assert announced.wake == "run-a"
    assert store.commit(take_child(store, "a")).how == "settled"


def test_a_child_of_several_turns_names_every_message_it_settled(store: StoreHarness) -> None:
    store.say("go")
    store.spawn(store.take(), "a")
    child = store.take(session=child_key("a"), run="run-a")
    store.say("steered", session=child_key("a"), mode=QueueMode.STEER)
    store.turns().step(child.lease, 1, [], may_steer=True)
    store.say("next", session=child_key("a"), mode=QueueMode.FOLLOWUP)
    assert store.commit(child).how == "again"
    assert store.run("run-a").covers == ["task-a", "steered"]

    store.take(session=child_key("a"), run="run-a")
    store.sessions.reset(child_key("a"), Lane.MAIN, cap=0)

    assert store.run("run-a").covers == ["task-a", "steered", "next"]


def test_a_child_of_several_turns_records_its_tokens_once(store: StoreHarness) -> None:
    child = tree(store)
    store.commit(child, usage=Usage(input=10, output=1))
    end_child(store, "b")
    store.announce("batch-2")
    store.commit(take_child(store, "a"), usage=Usage(input=5, output=2))

    assert store.run("run-a").usage == Usage(input=15, output=3)
    assert (store.row(A)["inputTokens"], store.row(A)["outputTokens"], store.row(A)["totalTokens"]) == ("15", "3", "18")
