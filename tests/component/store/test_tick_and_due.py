"""The heartbeat of a process, and claiming what is due without judging anyone after a freeze."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.due import CLAIM_MS, CLAIMED_AT_ONCE
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import LEASE_MS, SESSION, StoreHarness, session_named

W1, W2 = WorkerId("w1"), WorkerId("w2")


def test_a_tick_renews_lease_due_time_and_slot_of_its_own_runs(make_store: MakeStore) -> None:
    store = make_store(cap=1)
    store.say("hi")
    taken = store.take("w1")
    store.expire()

    assert store.leases.tick(W1, {"host": "h"}, [taken.lease]).verdicts == ["ok"]

    now = store.now()
    assert int(store.ctl("lease_until")) - now > LEASE_MS - 1000
    due = store.due_at()
    assert due is not None
    assert due - now > LEASE_MS - 1000
    assert store.redis.zscore(store.keys.slots(Lane.MAIN), SESSION) > now  # type: ignore[operator]
    assert store.recover().verb == "wait"


def test_a_tick_does_not_renew_what_another_process_owns_now(store: StoreHarness) -> None:
    store.say("hi")
    lost = store.take("w1")
    store.crash()
    store.take("w2")
    until = store.ctl("lease_until")
    store.redis.hset(store.keys.ctl(SESSION), "lease_until", str(int(until) - 500))

    assert store.leases.tick(W1, {}, [lost.lease]).verdicts == ["lost"]
    assert store.ctl("lease_until") == str(int(until) - 500)


def test_a_tick_brings_back_stops_for_exactly_the_runs_they_name(store: StoreHarness) -> None:
    here, there = session_named("a", "b")
    store.say("hi", session=here)
    store.say("hi", session=there)
    leases = [store.take("w1", session=session).lease for session in (here, there)]
    store.stop(session=there)

    assert store.leases.tick(W1, {}, leases).verdicts == ["ok", "killed"]


def test_a_damaged_session_keeps_no_other_of_its_process_from_being_renewed(store: StoreHarness) -> None:
    damaged, whole = session_named("a", "b")
    for session in (damaged, whole):
        store.say("hi", session=session)
    leases = [store.take("w1", session=session).lease for session in (damaged, whole)]
    store.redis.delete(store.keys.ctl(damaged))
    store.redis.set(store.keys.ctl(damaged), "junk")

    assert store.leases.tick(W1, {"host": "h"}, leases).verdicts == ["lost", "ok"]


def test_a_tick_brings_back_that_its_process_is_to_drain(store: StoreHarness) -> None:
    assert not store.leases.tick(W2, {}, []).is_drained
    store.workers.drain(W2)
    assert store.leases.tick(W2, {}, []).is_drained
    store.workers.drain("some-host")
    assert store.leases.tick(W1, {"host": "some-host"}, []).is_drained
    assert not store.leases.tick(W1, {"host": "another"}, []).is_drained
    assert store.workers.undrain("some-host")
    assert not store.leases.tick(W1, {"host": "some-host"}, []).is_drained


def test_workers_are_listed_newest_first_until_they_leave_and_seen_dead_when_silent(store: StoreHarness) -> None:
    store.leases.tick(W1, {"host": "a", "lane": "main"}, [])
    store.leases.tick(W2, {"host": "b"}, [])
    store.redis.zadd(store.keys.workers, {W1: store.now() - 60_000})

    listed = store.workers.all()
    assert [(worker.id, worker.alive, worker.facts["host"]) for worker in listed] == [
        (W2, True, "b"),
        (W1, False, "a"),
    ]
    store.workers.leave(W2)
    assert [worker.id for worker in store.workers.all()] == [W1]


def test_due_items_are_claimed_in_a_bounded_number_and_by_one_sweeper(store: StoreHarness) -> None:
    now = store.now()
    store.redis.zadd(store.keys.due, {f"archive|{n}": now - 1_000_000 + n for n in range(CLAIMED_AT_ONCE + 5)})

    wait, _, first = store.due.claim()
    assert (len(first), wait) == (CLAIMED_AT_ONCE, 0)
    assert first[0] == "archive|0"
    wait, _, second = store.due.claim()
    assert len(second) == 5
    assert not set(first) & set(second)
    assert 0 < wait <= CLAIM_MS
    assert store.due.claim().items == []


def test_due_says_how_long_until_the_next_item(store: StoreHarness) -> None:
    assert store.due.claim() == (-1, 0, [])
    store.redis.zadd(store.keys.due, {"archive|x": store.now() + 3_000})
    wait, _, items = store.due.claim()
    assert items == []
    assert 2_000 < wait <= 3_000


def test_a_claimed_item_is_looked_at_again_later_unless_it_is_done(store: StoreHarness) -> None:
    store.redis.zadd(store.keys.due, {"archive|x": 1, "archive|y": 1})
    store.due.claim()
    store.due.done("archive|y")

    store.due.later("archive|x", 30_000)
    store.due.later("archive|y", 30_000)

    due = store.due_at("archive|x")
    assert due is not None
    assert 29_000 < due - store.now() <= 30_000
    assert store.due_at("archive|y") is None


@pytest.mark.parametrize("stepped_ms", [-3 * LEASE_MS, 3 * LEASE_MS], ids=["frozen", "clock stepped back"])
def test_after_a_freeze_or_a_clock_step_nothing_is_judged_for_one_lease(store: StoreHarness, stepped_ms: int) -> None:
    store.say("hi")
    taken = store.take("w1")
    store.due.claim()
    store.expire()
    store.redis.zadd(store.keys.due, {f"turn|{SESSION}": 1})
    store.redis.hset(store.keys.sweep, "last", str(store.now() + stepped_ms))

    wait, _, items = store.due.claim()
    assert items == []
    assert 0 < wait <= LEASE_MS
    assert store.recover().verb == "wait"
    assert store.ctl("lease") == taken.lease.token
    assert store.due.claim().items == [], "the grace lasts a lease, not one look"

    store.redis.hset(store.keys.sweep, "grace_until", str(store.now() - 1))
    store.redis.zadd(store.keys.due, {f"turn|{SESSION}": 1})
    assert store.due.claim().items == [f"turn|{SESSION}"]
    store.expire()
    assert store.recover().verb == "wake"


def test_a_recover_before_any_sweep_noticed_the_freeze_waits_too(store: StoreHarness) -> None:
    store.say("hi")
    store.take("w1")
    store.expire()
    store.redis.hset(store.keys.sweep, "last", str(store.now() - 2 * LEASE_MS))

    assert store.recover().verb == "wait"
    assert store.ctl("state") == "running"
    due = store.due_at()
    assert due is not None
    assert due - store.now() > LEASE_MS - 1000


def test_the_first_sweep_ever_is_no_freeze(store: StoreHarness) -> None:
    store.redis.zadd(store.keys.due, {"archive|x": 1})
    assert store.due.claim().items == ["archive|x"]


def test_one_sweeper_is_asked_to_come_for_an_item_that_is_due_soon(store: StoreHarness) -> None:
    """If all came in that moment, a fleet would make as many scripts for each item as it has workers."""
    store.redis.zadd(store.keys.due, {"archive|x": store.now() + 3_000})

    reported = [store.due.claim(soon_ms=5_000).wait_ms for _ in range(3)]

    assert 2_000 < reported[0] <= 3_000
    assert reported[1:] == [-1, -1]


def test_nobody_is_asked_to_come_for_an_item_that_is_not_due_soon(store: StoreHarness) -> None:
    store.redis.zadd(store.keys.due, {"archive|x": store.now() + 60_000})
    assert store.due.claim(soon_ms=1_000).wait_ms == -1
    assert store.due.claim(soon_ms=120_000).wait_ms > 0, "whoever can wait for it was not told before"


def test_sweepers_learn_how_many_workers_are_alive(store: StoreHarness) -> None:
    for worker in (W1, W2, WorkerId("w3")):
        store.leases.tick(worker, {}, [])
    store.redis.zadd(store.keys.workers, {W1: store.now() - 60_000})
    store.workers.leave(W2)

    assert store.due.claim().workers == 1
