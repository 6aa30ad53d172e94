"""The heartbeat thread: whom it renews, whom it stops, and when it gives the process up."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import pytest

from openclaw_workers.engine.accounts import Accounts
from openclaw_workers.engine.journal import RedisJournal
from openclaw_workers.engine.process import RunHandle
from openclaw_workers.engine.ticker import Ticker
from openclaw_workers.errors import CorruptRecord, LeaseLost, StoreUnavailable, TurnAborted, TurnTimedOut
from openclaw_workers.models.ids import SessionKey, WorkerId
from openclaw_workers.store.fleet import Ticked
from tests.support.redis_server import free_port
from tests.unit.engine.conftest import SESSION, House, MakeHouse

WORKER = WorkerId("here/1/a")
OTHER = SessionKey("agent:main:other")


def carry(house: House, session: SessionKey = SESSION, *, seconds_left: float = 60) -> RunHandle:
    house.say("hi", session)
    return RunHandle(house.take(session).lease, seconds_left=seconds_left)


class Ticking:
    def __init__(self, house: House) -> None:
        self.stuck: list[bool] = []
        self.overdue: list[bool] = []
        self.house = house
        self.ticker = Ticker(
            house.stores.fleet,
            house.process,
            WORKER,
            lambda: {"host": "here"},
            on_stuck=lambda: self.stuck.append(True),
            on_overdue=lambda: self.overdue.append(True),
        )


@pytest.fixture
def ticking(house: House) -> Ticking:
    return Ticking(house)


def test_leases_of_carried_runs_are_renewed(house: House, ticking: Ticking) -> None:
    handle = carry(house)
    house.set_ctl("lease_until", 1)
    with house.process.carrying(handle):
        ticking.ticker.tick()
    assert int(house.ctl("lease_until")) > 1
    assert [worker.id for worker in house.stores.fleet.workers()] == [WORKER]
    house.set_ctl("lease_until", 1)
    ticking.ticker.tick()
    assert house.ctl("lease_until") == "1", "a run that is over is renewed by nobody"


def test_stops_losses_and_deadlines_reach_the_runs_they_mean(house: House, ticking: Ticking) -> None:
    stopped, lost = carry(house), carry(house, OTHER)
    late = carry(house, SessionKey("agent:main:late"), seconds_left=0)
    house.control.stop_session(SESSION)
    house.control.reset(OTHER)
    with house.process.carrying(stopped), house.process.carrying(lost), house.process.carrying(late):
        ticking.ticker.tick()

    assert isinstance(stopped.cancel.reason, TurnAborted)
    assert isinstance(lost.cancel.reason, LeaseLost)
    assert isinstance(late.cancel.reason, TurnTimedOut)


def test_a_tick_under_way_when_its_worker_leaves_is_waited_for(
    house: House, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would enter the worker again, for `ocw status` to show until it is taken for dead."""
    tick, in_tick, go_on = house.stores.fleet.tick, threading.Event(), threading.Event()

    def slow(*args: Any) -> Ticked:
        in_tick.set()
        go_on.wait(10)
        return tick(*args)

    monkeypatch.setattr(house.stores.fleet, "tick", slow)
    ticking.ticker.start()
    assert in_tick.wait(10)
    threading.Timer(0.1, go_on.set).start()
    ticking.ticker.stop()
    house.stores.fleet.leave(WORKER)

    ticking.ticker.join(10)
    assert house.stores.fleet.workers() == []


def test_what_calls_have_taken_is_held_on_to_by_those_that_still_own_their_run(house: House, ticking: Ticking) -> None:
    first, second, lost = carry(house), carry(house, OTHER), carry(house, SessionKey("agent:main:lost"))
    house.control.reset(lost.lease.session)
    held: list[RunHandle] = []
    for handle in (first, second, lost):
        handle.hold = partial(held.append, handle)
    with house.process.carrying(first), house.process.carrying(second), house.process.carrying(lost):
        ticking.ticker.tick()
        assert held == [first, second]
        first.hold = Mock(side_effect=StoreUnavailable("away"))
        ticking.ticker.tick()
    assert held == [first, second], "who waits for Redis once does not do so for each"
    assert first.cancel.reason is second.cancel.reason is None


def test_a_run_whose_records_are_damaged_keeps_no_other_from_its_verdict(house: House, ticking: Ticking) -> None:
    damaged, stopped, healthy = carry(house), carry(house, OTHER), carry(house, SessionKey("agent:main:healthy"))
    accounts = Accounts(damaged.lease.run, SESSION, "main", SESSION, lambda *_: 0.0)
    journal = RedisJournal(house.turns, damaged, house.process, accounts, step=0)
    damaged.on_tick, damaged.hold = journal.flush, Mock(side_effect=CorruptRecord("a limit", "it is no number"))
    healthy.hold = Mock()
    journal.text("for viewers")
    house.stores.redis.delete(house.stores.keys.events(SESSION))
    house.stores.redis.set(house.stores.keys.events(SESSION), "no stream")
    house.control.stop_session(OTHER)
    with house.process.carrying(damaged), house.process.carrying(stopped), house.process.carrying(healthy):
        ticking.ticker.tick()
    assert isinstance(stopped.cancel.reason, TurnAborted)
    assert healthy.hold.called


def test_a_drain_that_was_asked_for_through_redis_begins_here(house: House, ticking: Ticking) -> None:
    house.stores.fleet.drain(WORKER)
    ticking.ticker.tick()
    assert house.process.draining


def test_a_stuck_run_is_not_renewed_while_its_neighbours_are_let_go(
    house: House, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, healthy = carry(house), carry(house, OTHER)
    monkeypatch.setattr(stuck, "is_stuck", lambda _now: True)
    house.set_ctl("lease_until", 1)
    house.set_ctl("lease_until", 1, OTHER)
    with house.process.carrying(stuck):
        with house.process.carrying(healthy):
            ticking.ticker.tick()
            assert (house.ctl("lease_until"), house.process.draining, ticking.stuck) == ("1", True, [])
            assert int(house.ctl("lease_until", OTHER)) > 1
        ticking.ticker.tick()
    assert ticking.stuck == [True], "with the others gone, the process ends"


def test_a_tick_without_redis_changes_nothing_and_says_nothing_to_the_runs(make_house: MakeHouse) -> None:
    house = make_house()
    handle = carry(house)
    away = Ticking(make_house(url=f"redis://127.0.0.1:{free_port()}/0"))
    with house.process.carrying(handle):
        away.ticker.tick()
    assert handle.cancel.reason is None


def test_a_process_that_is_still_there_after_the_grace_is_ended(make_house: MakeHouse) -> None:
    house = make_house(grace_seconds=0)
    ticking = Ticking(house)
    ticking.ticker.tick()
    assert ticking.overdue == []
    house.process.drain()
    ticking.ticker.tick()
    assert (ticking.overdue, ticking.stuck) == ([True], [])


@pytest.mark.parametrize(("has_parent", "ended_at"), [(True, 107.1), (False, 108.1)])
def test_a_pool_child_that_carries_nothing_is_gone_a_little_before_its_grace_ends(
    make_house: MakeHouse, has_parent: bool, ended_at: float
) -> None:
    house = make_house(grace_seconds=8)
    house.process.has_parent = has_parent
    ticking, handle = Ticking(house), carry(house)
    with patch("time.monotonic", return_value=100.0):
        house.process.drain()
    with patch("time.monotonic", return_value=105.0), house.process.carrying(handle):
        ticking.ticker.tick()
    for still_in_order in (105.9, 106.1, ended_at - 0.2):
        with patch("time.monotonic", return_value=still_in_order):
            ticking.ticker.tick()
    assert ticking.overdue == []
    with patch("time.monotonic", return_value=ended_at):
        ticking.ticker.tick()
    assert ticking.overdue == [True]


def test_nobody_is_judged_stuck_while_redis_is_away(make_house: MakeHouse) -> None:
    house = make_house()
    handle = carry(house, seconds_left=0)
    handle.forgive(-60)
    away = Ticking(make_house(url=f"redis://127.0.0.1:{free_port()}/0"))
    away.ticker.tick()
    with house.process.carrying(handle), away.house.process.carrying(handle):
        away.ticker.tick()
        assert not away.house.process.draining
        Ticking(house).ticker.tick()
        assert house.process.draining


def test_the_end_of_an_old_attempt_does_not_hide_the_new_one(house: House) -> None:
    old = carry(house)
    new = RunHandle(old.lease, seconds_left=60)
    with house.process.carrying(old):
        entered = house.process.carrying(new)
        entered.__enter__()
    assert house.process.runs() == [new]
    entered.__exit__(None, None, None)
    assert house.process.runs() == []
