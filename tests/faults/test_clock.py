"""Redis' clock steps back by an hour while a fleet works: nothing waits for that hour (rule 7, I8)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw_workers.domain.messages import MessageState
from openclaw_workers.engine import stores
from openclaw_workers.store import client as connection
from openclaw_workers.store import scripts
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.clock import Clock, shifted_connect, shifted_source
from tests.support.fleet import Fleet
from tests.support.ocw import Gate
from tests.support.programs import program, say
from tests.support.waiting import eventually
from tests.support.wire import WireServer
from tests.support.wired_fleet import config

HOUR = 3600
MakeClock = Callable[[Fleet], Clock]


@pytest.fixture
def make_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MakeClock:
    """Make this process use the shifted clock too. Request it before the fleet starts."""
    file = tmp_path / "clock"
    file.write_text("0")
    monkeypatch.setattr(scripts, "script_source", shifted_source(scripts.script_source))
    monkeypatch.setattr(stores, "connect", shifted_connect(connection.connect, file))
    return lambda fleet: Clock(fleet.stores.redis, file)


def test_after_a_step_back_dead_turns_and_lost_wake_ups_recover_and_live_turns_continue(
    make_clock: MakeClock, make_fleet: MakeFleet
) -> None:
    fleet = make_fleet()
    clock = make_clock(fleet)
    victim = fleet.worker(concurrency=1, **clock.environment())
    killed = fleet.send(program(Gate(fleet, "killed").step, say("done")), "killed")
    assert fleet.carrier("killed") is victim
    other = fleet.worker(**clock.environment())
    gate = Gate(fleet, "live")
    live = fleet.send(program(gate.step, say("done")), "live")
    assert fleet.carrier("live") is other
    lost = fleet.send(program(say("done")), "lost", lose_wake_up=True)
    victim.kill()

    clock.set(-HOUR)

    outcome = fleet.outcome(killed, within=20)
    assert fleet.outcome(lost, within=20).receipt.state is MessageState.ANSWERED
    gate.open()
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    live_run = fleet.outcome(live).run
    assert live_run is not None
    assert len(live_run.attempts) == 1, "a live owner was treated as dead"
    check(fleet.stores, [killed, live, lost], one_each=True)


def test_calls_with_a_time_in_the_future_do_not_delay_other_calls(make_clock: MakeClock, make_fleet: MakeFleet) -> None:
    with WireServer() as server:
        fleet = make_fleet(config(server, limits={"requestsPerMinute": 2}))
        clock = make_clock(fleet)
        fleet.worker(**clock.environment())
        before = [fleet.send("before", f"before-{number}") for number in range(2)]
        fleet.outcomes(before)

        clock.set(-HOUR)
        after = [fleet.send("after", f"after-{number}") for number in range(2)]

        # The limit itself would make them wait a minute; the calls with a future time, an hour.
        fleet.outcomes(after, within=20)
        third = fleet.send("third", "third")
        waiting = fleet.stores.keys.waiting("a")
        eventually(lambda: fleet.stores.redis.zcard(waiting) == 1, within=20)
        fleet.command("/stop", "third")
        check(fleet.stores, [*before, *after, third], one_each=True)
