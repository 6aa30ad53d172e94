"""The heartbeat thread: whom it renews, whom it stops, and when it gives the process up."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import pytest

from openclaw_workers.domain.ids import SessionKey, WorkerId
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.turn.journal import RedisJournal
from openclaw_workers.engine.worker.state import RunActivity, RunHandle
from openclaw_workers.engine.worker.ticker import Ticker
from openclaw_workers.errors import CorruptRecord, LeaseLost, StoreUnavailable, TurnAborted, TurnTimedOut
from openclaw_workers.store.leases import Ticked
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.support.redis_server import free_port

WORKER = WorkerId("here/1/a")
OTHER = SessionKey("agent:main:other")


def carry(engine: EngineHarness, session: SessionKey = SESSION, *, seconds_left: float = 60) -> RunHandle:
    engine.say("hi", session)
    return RunHandle(engine.take(session).lease, seconds_left=seconds_left)


class Ticking:
    def __init__(self, engine: EngineHarness) -> None:
        self.stuck: list[bool] = []
        self.overdue: list[bool] = []
        self.drained: list[bool] = []
        self.engine = engine
        self.ticker = Ticker(
            engine.stores.leases,
            engine.process,
            WORKER,
            lambda: {"host": "here"},
            on_drained=self.drained.append,
            on_stuck=lambda: self.stuck.append(True),
            on_overdue=lambda: self.overdue.append(True),
        )


@pytest.fixture
def ticking(engine: EngineHarness) -> Ticking:
    return Ticking(engine)


def test_leases_of_carried_runs_are_renewed(engine: EngineHarness, ticking: Ticking) -> None:
    handle = carry(engine)
    engine.set_ctl("lease_until", 1)
    with engine.process.carrying(handle):
        ticking.ticker.tick()
    assert int(engine.ctl("lease_until")) > 1
    assert [worker.id for worker in engine.stores.workers.all()] == [WORKER]
    engine.set_ctl("lease_until", 1)
    ticking.ticker.tick()
    assert engine.ctl("lease_until") == "1", "a run that is over is renewed by nobody"


def test_stops_losses_and_deadlines_reach_the_runs_they_mean(engine: EngineHarness, ticking: Ticking) -> None:
    stopped, lost = carry(engine), carry(engine, OTHER)
    late = carry(engine, SessionKey("agent:main:late"), seconds_left=0)
    engine.control.stop_session(SESSION)
    engine.control.reset(OTHER)
    with engine.process.carrying(stopped), engine.process.carrying(lost), engine.process.carrying(late):
        ticking.ticker.tick()

    assert isinstance(stopped.cancel.reason, TurnAborted)
    assert isinstance(lost.cancel.reason, LeaseLost)
    assert isinstance(late.cancel.reason, TurnTimedOut)


def test_a_tick_under_way_when_its_worker_leaves_is_waited_for(
    engine: EngineHarness, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would enter the worker again, for `ocw status` to show until it is taken for dead."""
    tick, in_tick, go_on = engine.stores.leases.tick, threading.Event(), threading.Event()

    def slow(*args: Any, **named: Any) -> Ticked:
        in_tick.set()
        go_on.wait(10)
        return tick(*args, **named)

    monkeypatch.setattr(engine.stores.leases, "tick", slow)
    ticking.ticker.start()
    assert in_tick.wait(10)
    threading.Timer(0.1, go_on.set).start()
    ticking.ticker.stop()
    engine.stores.workers.leave(WORKER)

    ticking.ticker.join(10)
    assert engine.stores.workers.all() == []


def test_what_calls_have_taken_is_held_on_to_by_those_that_still_own_their_run(
    engine: EngineHarness, ticking: Ticking
) -> None:
    first, second, lost = carry(engine), carry(engine, OTHER), carry(engine, SessionKey("agent:main:lost"))
    engine.control.reset(lost.lease.session)
    held: list[RunHandle] = []
    for handle in (first, second, lost):
        handle.begin(RunActivity(renew_reservation=partial(held.append, handle)))
    with engine.process.carrying(first), engine.process.carrying(second), engine.process.carrying(lost):
        ticking.ticker.tick()
        assert held == [first, second]
        first.begin(RunActivity(renew_reservation=Mock(side_effect=StoreUnavailable("away"))))
        ticking.ticker.tick()
    assert held == [first, second], "who waits for Redis once does not do so for each"
    assert first.cancel.reason is second.cancel.reason is None


def test_a_run_whose_records_are_damaged_keeps_no_other_from_its_verdict(
    engine: EngineHarness, ticking: Ticking
) -> None:
    damaged, stopped, healthy = carry(engine), carry(engine, OTHER), carry(engine, SessionKey("agent:main:healthy"))
    accounts = CallLog(damaged.lease.run, SESSION, "main", SESSION, lambda *_: 0.0)
    journal = RedisJournal(engine.turns, damaged, engine.process, accounts, step=0)
    unreadable = Mock(side_effect=CorruptRecord("a limit", "it is no number"))
    damaged.begin(RunActivity(show=journal.flush, renew_reservation=unreadable))
    hold = Mock()
    healthy.begin(RunActivity(renew_reservation=hold))
    journal.text("for viewers")
    engine.stores.redis.delete(engine.stores.keys.events(SESSION))
    engine.stores.redis.set(engine.stores.keys.events(SESSION), "no stream")
    engine.control.stop_session(OTHER)
    with engine.process.carrying(damaged), engine.process.carrying(stopped), engine.process.carrying(healthy):
        ticking.ticker.tick()
    assert isinstance(stopped.cancel.reason, TurnAborted)
    assert hold.called


@pytest.mark.parametrize("name", [WORKER, "here"], ids=["worker", "host"])
def test_a_worker_that_is_drained_hands_over_and_stays_until_it_is_undrained(
    engine: EngineHarness, ticking: Ticking, name: str
) -> None:
    workers = engine.stores.workers
    workers.drain(name)
    ticking.ticker.tick()
    shutdown = engine.process.shutdown
    assert (shutdown.hands_over, shutdown.has_begun, ticking.drained) == (True, False, [True])
    engine.say("hi")
    assert engine.runner.run(*engine.waker.turns.pop()) is None
    assert (engine.ctl("state"), engine.waker.turns) == ("queued", []), "it would fetch the wake-up again"

    workers.undrain(name)
    ticking.ticker.tick()
    assert (engine.process.shutdown.hands_over, ticking.drained) == (False, [True, False])


def test_a_stuck_run_is_not_renewed_and_its_neighbours_are(
    engine: EngineHarness, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, healthy = carry(engine), carry(engine, OTHER)
    monkeypatch.setattr(stuck, "is_stuck", lambda _now: True)
    engine.set_ctl("lease_until", 1)
    engine.set_ctl("lease_until", 1, OTHER)
    with engine.process.carrying(stuck):
        with engine.process.carrying(healthy):
            ticking.ticker.tick()
            assert (engine.ctl("lease_until"), engine.process.shutdown.has_begun, ticking.stuck) == ("1", True, [])
            assert int(engine.ctl("lease_until", OTHER)) > 1
        ticking.ticker.tick()
    assert ticking.stuck == [True], "with the others gone, the process ends"


def test_a_tick_without_redis_changes_nothing_and_says_nothing_to_the_runs(make_engine: MakeEngine) -> None:
    engine = make_engine()
    handle = carry(engine)
    away = Ticking(make_engine(url=f"redis://127.0.0.1:{free_port()}/0"))
    with engine.process.carrying(handle):
        away.ticker.tick()
    assert handle.cancel.reason is None


def test_a_process_that_is_still_there_after_the_grace_is_ended(make_engine: MakeEngine) -> None:
    engine = make_engine(grace_seconds=0)
    ticking = Ticking(engine)
    ticking.ticker.tick()
    assert ticking.overdue == []
    engine.process.shutdown.begin()
    ticking.ticker.tick()
    assert (ticking.overdue, ticking.stuck) == ([True], [])


@pytest.mark.parametrize(("has_parent", "ended_at"), [(True, 107.1), (False, 108.1)])
def test_a_pool_child_that_carries_nothing_is_gone_a_little_before_its_grace_ends(
    make_engine: MakeEngine, has_parent: bool, ended_at: float
) -> None:
    engine = make_engine(grace_seconds=8)
    engine.process.has_parent = has_parent
    ticking, handle = Ticking(engine), carry(engine)
    with patch("time.monotonic", return_value=100.0):
        engine.process.shutdown.begin()
    with patch("time.monotonic", return_value=105.0), engine.process.carrying(handle):
        ticking.ticker.tick()
    for still_in_order in (105.9, 106.1, ended_at - 0.2):
        with patch("time.monotonic", return_value=still_in_order):
            ticking.ticker.tick()
    assert ticking.overdue == []
    with patch("time.monotonic", return_value=ended_at):
        ticking.ticker.tick()
    assert ticking.overdue == [True]


def test_nobody_is_judged_stuck_while_redis_is_away(make_engine: MakeEngine) -> None:
    engine = make_engine()
    handle = carry(engine, seconds_left=0)
    handle.forgive(-60)
    away = Ticking(make_engine(url=f"redis://127.0.0.1:{free_port()}/0"))
    away.ticker.tick()
    with engine.process.carrying(handle), away.engine.process.carrying(handle):
        away.ticker.tick()
        assert not away.engine.process.shutdown.has_begun
        Ticking(engine).ticker.tick()
        assert engine.process.shutdown.has_begun


def test_the_end_of_an_old_attempt_does_not_hide_the_new_one(engine: EngineHarness) -> None:
    old = carry(engine)
    new = RunHandle(old.lease, seconds_left=60)
    with engine.process.carrying(old):
        entered = engine.process.carrying(new)
        entered.__enter__()
    assert engine.process.runs() == [new]
    entered.__exit__(None, None, None)
    assert engine.process.runs() == []
