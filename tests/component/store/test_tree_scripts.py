"""The scripts of the tree: who is parked, woken and stopped."""

from __future__ import annotations

from openclaw_workers.domain.ids import MessageId, RunId
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.tree import AnnounceMode, BatchState
from openclaw_workers.store.turn_records import WaitFor
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import SESSION, StoreHarness
from tests.component.store.tree_steps import ELSEWHERE, A, B, end_child, park_in_a_call, take_child, tree


def test_a_run_that_waits_in_a_call_is_not_ended_by_a_batch_nobody_hears_of(store: StoreHarness) -> None:
    child = tree(store, mode=AnnounceMode.NONE)
    park_in_a_call(store, child)
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, False)
    assert store.run("run-a").state is RunState.PARKED


def test_a_run_that_waits_in_a_call_and_wants_no_further_turn_is_not_ended_by_its_childs_end(
    store: StoreHarness,
) -> None:
    child = tree(store, record={"wake_on_descendant_settle": "0"})
    park_in_a_call(store, child)
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ATTACHED, False)
    assert store.run("run-a").state is RunState.PARKED


def test_a_parked_child_that_was_reset_ends_when_what_it_waited_for_is_over(store: StoreHarness) -> None:
    # Given a child that waits for its own, and whose session began a new generation in the same turn
    child = tree(store)
    assert store.commit(child, reset=True).how == "parked"
    end_child(store, "b")

    # When the results come, which its new generation did not ask for
    announced = store.announce("batch-2")

    # Then it waits no longer
    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.ARCHIVED, True)
    assert store.run("run-a").state is RunState.OK
    assert store.ctl("state", A) == "idle"


def test_a_result_nobody_was_to_hear_is_not_carried_up_when_its_parent_fails(store: StoreHarness) -> None:
    child = tree(store, mode=AnnounceMode.NONE)
    assert store.commit(child, state=RunState.ERROR, reason="error").how == "unsettled"
    end_child(store, "b")

    announced = store.announce("batch-2")

    assert announced is not None
    assert (announced.how, announced.settles_parent) == (BatchState.NONE, True)


def test_a_stop_that_comes_during_the_last_word_is_not_parked_away(store: StoreHarness) -> None:
    # Given a child that was asked to stop after its last step, and says its last word all the same
    child = tree(store)
    assert store.stop(session=A).begun

    # When it would wait for its own child
    committed = store.commit(child)

    # Then it is woken to end instead
    assert (committed.how, committed.next_run) == ("again", "run-a")
    assert take_child(store, "a").abort == "killed"


def test_a_run_that_ends_with_no_message_says_so_with_an_empty_list(store: StoreHarness) -> None:
    store.commit(tree(store))

    assert not store.stop(session=A).begun

    (ended,) = [event for event in store.reader.events(A, "0") if event.type == "run.ended"]
    assert ended.data["covers"] == []


def test_a_stop_that_comes_before_the_park_in_a_call_wakes_the_run_at_once(store: StoreHarness) -> None:
    child = tree(store)
    store.redis.hset(store.keys.waiters(ELSEWHERE), "m", A)
    store.stop(session=A)

    woken, _ = store.turns().release(child.lease, WaitFor(ELSEWHERE, MessageId("m"), 30_000))

    assert woken
    assert take_child(store, "a").abort == "killed"


def test_a_run_parks_in_a_call_no_longer_than_it_may_live(store: StoreHarness) -> None:
    child = tree(store)
    store.redis.hset(store.keys.run("run-a"), "deadline_at", str(store.now() + 1_000))
    park_in_a_call(store, child)

    due = store.due_at(f"turn|{A}")
    assert due is not None
    assert due <= store.now() + 1_000


def test_a_child_that_waits_for_its_own_is_not_woken_with_nothing_to_say(store: StoreHarness) -> None:
    # Given a parked child with a due item that something else left behind
    child = tree(store)
    store.commit(child)
    store.redis.zadd(store.keys.due, {f"turn|{A}": 1})

    # Then a look at it puts it back to wait until its time is over
    assert store.recover(A).verb == "wait"
    assert store.ctl("state", A) == "parked"
    assert store.due_at(f"turn|{A}") == store.run("run-a").deadline_at

    # And once that has come it is woken
    store.redis.hset(store.keys.run("run-a"), "deadline_at", str(store.now() - 1))
    assert store.recover(A).verb == "wake"


def test_a_message_to_a_child_whose_parent_is_gone_brings_nothing_of_the_parent_back(store: StoreHarness) -> None:
    child = tree(store)
    store.commit(child)
    end_child(store, "b")
    store.announce("batch-2")
    end_child(store, "a")
    store.announce()
    store.sessions.delete(A, Lane.MAIN, cap=0)

    store.say("and now?", session=B, run="run-b2")

    assert store.redis.exists(store.keys.ctl(A), store.keys.live(A), store.keys.batches(A)) == 0
    assert store.commit(take_child(store, "b", run="run-b2")).how == "ended"
    assert not store.run("run-b2").is_child


def test_whose_children_were_whose_is_known_after_a_child_is_deleted(store: StoreHarness) -> None:
    child = tree(store)
    store.sessions.delete(child.lease.session, Lane.MAIN, cap=0)

    assert [run.id for run in store.tree.children(A)] == ["run-b"]
    assert store.redis.ttl(store.keys.children(A)) > 0


def test_an_order_to_stop_children_of_an_old_generation_spares_those_of_the_next(store: StoreHarness) -> None:
    # Given a root that is deleted while its children work, and whose children nobody has stopped yet
    # (more of them than milliseconds pass: each has a place of its own)
    store.say("one")
    old = [f"old{n:02}" for n in range(50)]
    store.spawn(store.take(), *old, most_children=100, most_tree=100)
    store.sessions.delete(SESSION, Lane.MAIN, cap=0)

    # When a new session of the same name spawns
    store.say("two", run="run-two")
    store.spawn(store.take(), "c", batch="batch-3", most_children=100, most_tree=100)

    # Then the order reaches only the old ones
    order = store.tree.stop_order(SESSION)
    assert order is not None
    assert [run.id for run in store.tree.live(SESSION, order.upto)] == [f"run-{name}" for name in old]


def test_a_parked_child_holds_no_slot_and_stands_in_line_when_it_is_woken(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    child = tree(store)
    assert store.redis.zrange(store.keys.slots(Lane.MAIN), 0, -1) == [A]
    store.commit(child)
    assert store.redis.zrange(store.keys.slots(Lane.MAIN), 0, -1) == []

    taken = take_child(store, "b")
    store.say("are you there?", session=A)
    assert store.refused(session=A, run="run-a") == "lane"
    committed = store.commit(taken)

    assert committed.granted == ((RunId("run-a"), A),)
    assert take_child(store, "a").lease.run == "run-a"
