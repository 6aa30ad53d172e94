"""The heartbeat of a process, and claiming what is due without judging anyone after a freeze."""

from __future__ import annotations

import pytest

from openclaw_workers.models.ids import WorkerId
from openclaw_workers.models.runs import Lane
from openclaw_workers.store.fleet import CLAIM_MS, CLAIMED_AT_ONCE
from tests.unit.store.conftest import MakeDesk
from tests.unit.store.desk import LEASE_MS, SESSION, Desk, session_named

W1, W2 = WorkerId("w1"), WorkerId("w2")


def test_a_tick_renews_lease_due_time_and_slot_of_its_own_runs(make_desk: MakeDesk) -> None:
    desk = make_desk(cap=1)
    desk.say("hi")
    taken = desk.take("w1")
    desk.expire()

    assert desk.fleet.tick(W1, {"host": "h"}, [taken.lease]).verdicts == ["ok"]

    now = desk.now()
    assert int(desk.ctl("lease_until")) - now > LEASE_MS - 1000
    due = desk.due()
    assert due is not None
    assert due - now > LEASE_MS - 1000
    assert desk.redis.zscore(desk.keys.slots(Lane.MAIN), SESSION) > now  # type: ignore[operator]
    assert desk.rescue().verb == "wait"


def test_a_tick_does_not_renew_what_another_process_owns_now(desk: Desk) -> None:
    desk.say("hi")
    lost = desk.take("w1")
    desk.crash()
    desk.take("w2")
    until = desk.ctl("lease_until")
    desk.redis.hset(desk.keys.ctl(SESSION), "lease_until", str(int(until) - 500))

    assert desk.fleet.tick(W1, {}, [lost.lease]).verdicts == ["lost"]
    assert desk.ctl("lease_until") == str(int(until) - 500)


def test_a_tick_brings_back_stops_for_exactly_the_runs_they_name(desk: Desk) -> None:
    here, there = session_named("a", "b")
    desk.say("hi", session=here)
    desk.say("hi", session=there)
    leases = [desk.take("w1", session=session).lease for session in (here, there)]
    desk.stop(session=there)

    assert desk.fleet.tick(W1, {}, leases).verdicts == ["ok", "killed"]


def test_a_damaged_session_keeps_no_other_of_its_process_from_being_renewed(desk: Desk) -> None:
    damaged, whole = session_named("a", "b")
    for session in (damaged, whole):
        desk.say("hi", session=session)
    leases = [desk.take("w1", session=session).lease for session in (damaged, whole)]
    for key in (desk.keys.ctl(damaged), desk.keys.worker(W1)):
        desk.redis.delete(key)
        desk.redis.set(key, "junk")

    assert desk.fleet.tick(W1, {"host": "h"}, leases).verdicts == ["lost", "ok"]

    (worker,) = desk.fleet.workers()
    assert (worker.facts["host"], worker.is_damaged) == ("h", False)
    desk.redis.delete(desk.keys.worker(W1))
    desk.redis.set(desk.keys.worker(W1), "junk")
    (worker,) = desk.fleet.workers()
    assert (worker.facts, worker.is_damaged, worker.alive) == ({}, True, True)


def test_a_tick_brings_back_that_its_process_is_to_drain(desk: Desk) -> None:
    assert not desk.fleet.tick(W2, {}, []).drain
    desk.fleet.drain(W2)
    assert desk.fleet.tick(W2, {}, []).drain


def test_workers_are_listed_newest_first_until_they_leave_and_seen_dead_when_silent(desk: Desk) -> None:
    desk.fleet.tick(W1, {"host": "a", "lane": "main"}, [])
    desk.fleet.tick(W2, {"host": "b"}, [])
    desk.redis.zadd(desk.keys.workers, {W1: desk.now() - 60_000})

    listed = desk.fleet.workers()
    assert [(worker.id, worker.alive, worker.facts["host"]) for worker in listed] == [
        (W2, True, "b"),
        (W1, False, "a"),
    ]
    desk.fleet.leave(W2)
    assert [worker.id for worker in desk.fleet.workers()] == [W1]


def test_due_items_are_claimed_in_a_bounded_number_and_by_one_sweeper(desk: Desk) -> None:
    now = desk.now()
    desk.redis.zadd(desk.keys.due, {f"archive|{n}": now - 1_000_000 + n for n in range(CLAIMED_AT_ONCE + 5)})

    wait, first = desk.fleet.due()
    assert (len(first), wait) == (CLAIMED_AT_ONCE, 0)
    assert first[0] == "archive|0"
    wait, second = desk.fleet.due()
    assert len(second) == 5
    assert not set(first) & set(second)
    assert 0 < wait <= CLAIM_MS
    assert desk.fleet.due()[1] == []


def test_due_says_how_long_until_the_next_item(desk: Desk) -> None:
    assert desk.fleet.due() == (-1, [])
    desk.redis.zadd(desk.keys.due, {"archive|x": desk.now() + 3_000})
    wait, items = desk.fleet.due()
    assert items == []
    assert 2_000 < wait <= 3_000


def test_a_claimed_item_is_looked_at_again_later_unless_it_is_done(desk: Desk) -> None:
    desk.redis.zadd(desk.keys.due, {"archive|x": 1, "archive|y": 1})
    desk.fleet.due()
    desk.fleet.done("archive|y")

    desk.fleet.later("archive|x", 30_000)
    desk.fleet.later("archive|y", 30_000)

    due = desk.due("archive|x")
    assert due is not None
    assert 29_000 < due - desk.now() <= 30_000
    assert desk.due("archive|y") is None


@pytest.mark.parametrize("stepped_ms", [-3 * LEASE_MS, 3 * LEASE_MS], ids=["frozen", "clock stepped back"])
def test_after_a_freeze_or_a_clock_step_nothing_is_judged_for_one_lease(desk: Desk, stepped_ms: int) -> None:
    desk.say("hi")
    taken = desk.take("w1")
    desk.fleet.due()
    desk.expire()
    desk.redis.zadd(desk.keys.due, {f"turn|{SESSION}": 1})
    desk.redis.hset(desk.keys.sweep, "last", str(desk.now() + stepped_ms))

    wait, items = desk.fleet.due()
    assert items == []
    assert 0 < wait <= LEASE_MS
    assert desk.rescue().verb == "wait"
    assert desk.ctl("lease") == taken.lease.token
    assert desk.fleet.due()[1] == [], "the grace lasts a lease, not one look"

    desk.redis.hset(desk.keys.sweep, "grace_until", str(desk.now() - 1))
    desk.redis.zadd(desk.keys.due, {f"turn|{SESSION}": 1})
    assert desk.fleet.due()[1] == [f"turn|{SESSION}"]
    desk.expire()
    assert desk.rescue().verb == "wake"


def test_a_rescue_before_any_sweep_noticed_the_freeze_waits_too(desk: Desk) -> None:
    desk.say("hi")
    desk.take("w1")
    desk.expire()
    desk.redis.hset(desk.keys.sweep, "last", str(desk.now() - 2 * LEASE_MS))

    assert desk.rescue().verb == "wait"
    assert desk.ctl("state") == "running"
    due = desk.due()
    assert due is not None
    assert due - desk.now() > LEASE_MS - 1000


def test_the_first_sweep_ever_is_no_freeze(desk: Desk) -> None:
    desk.redis.zadd(desk.keys.due, {"archive|x": 1})
    assert desk.fleet.due()[1] == ["archive|x"]
