"""What a run record says about its owners: when each had the run, and why it no longer has."""

from __future__ import annotations

from openclaw_workers.domain.runs import Attempt
from tests.component.store.harness import LEASE_MS, StoreHarness, child_key


def attempts(store: StoreHarness, run: str) -> list[Attempt]:
    return store.run(run).attempts


def test_a_lost_worker_had_the_run_until_its_last_heartbeat(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    store.take("w1")
    store.expire()
    last_renewal = int(store.ctl("lease_until")) - LEASE_MS
    store.recover()
    store.commit(store.take("w2"), worker="w2")

    lost, after = attempts(store, "run-a")

    assert (lost.worker, lost.end, lost.until) == ("w1", "lost", last_renewal)
    assert (after.how, after.end, after.until) == ("takeover", None, None)


def test_a_hand_over_says_when_the_worker_left_even_if_it_is_repeated(store: StoreHarness) -> None:
    store.say("hi", run="run-a")
    taken = store.take("w1")
    store.turns("w1").release(taken.lease)
    first = attempts(store, "run-a")

    store.turns("w1").release(taken.lease)

    assert attempts(store, "run-a") == first
    assert first[0].end == "handover"
    assert first[0].until is not None
    assert first[0].until >= first[0].at


def test_a_parked_run_says_since_when_it_holds_no_worker_and_when_it_was_woken(store: StoreHarness) -> None:
    store.say("go")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.spawn(child, "b", batch="batch-2")
    store.commit(child)
    (parked,) = attempts(store, "run-a")
    store.commit(store.take(session=child_key("b"), run="run-b"))

    store.announce("batch-2")

    (woken,) = attempts(store, "run-a")
    assert (parked.end, parked.woken) == ("parked", None)
    assert parked.until is not None
    assert woken.woken is not None
    assert woken.woken >= parked.until
    assert woken.until == parked.until


def test_a_run_that_goes_on_with_a_new_turn_says_so(store: StoreHarness) -> None:
    store.say("go")
    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)
    child = store.take(session=child_key("a"), run="run-a")
    store.say("and this?", session=child_key("a"))

    assert store.commit(child).how == "again"

    assert [attempt.end for attempt in attempts(store, "run-a")] == ["continued"]


def test_a_run_is_named_by_the_beginning_of_its_message(store: StoreHarness) -> None:
    store.say("\n  first line\nsecond line", run="run-a")
    store.commit(store.take())
    store.say("語" * 100, run="run-b")
    store.take()

    assert store.run("run-a").title.strip() == "first line"
    assert store.run("run-b").title == "語" * 79, "cut between two characters"
