"""The fault tests at full length: a minute without Redis or workers, and chaos for SOAK_MINUTES."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from tests.faults import test_backlog as backlog
from tests.faults import test_blocking as blocking
from tests.faults import test_chaos as chaos
from tests.faults import test_redis as redis
from tests.faults import test_rolling as rolling
from tests.faults.conftest import MakeFleet
from tests.support.chaos import ChaosPlan
from tests.support.fleet import Fleet

MINUTE = 60
both_pools = pytest.mark.parametrize("pool", ["threads", "prefork"])


def test_random_worker_deaths_lose_nothing(tmp_path: Path, soak_seconds: float) -> None:
    begun = time.monotonic()
    modes = {"followup": chaos.follow_up, "collect": chaos.collect}
    for number, mode in enumerate(itertools.cycle(modes)):
        plan = ChaosPlan(messages=3_000, kills=20, workers=3)
        with Fleet(tmp_path / str(number), plan.config(mode)) as fleet:
            modes[mode](fleet, plan)
        if time.monotonic() - begun > soak_seconds:
            break


def test_accept_fails_within_3_seconds_while_redis_is_frozen_for_a_minute(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({"engine": {"leaseSeconds": 8.0, "sweepSeconds": 1.0}})
    fleet.ready(*(fleet.worker(wait=False) for _ in range(2)))
    redis.accept_through_a_freeze(fleet, seconds=MINUTE)


@both_pools
def test_no_turn_is_taken_over_because_redis_was_frozen_for_a_minute(make_fleet: MakeFleet, pool: str) -> None:
    fleet = make_fleet({"engine": {"leaseSeconds": 8.0, "sweepSeconds": 1.0}})
    blocking.carry_through(blocking.freeze, fleet, pool, seconds=MINUTE)


@both_pools
def test_no_turn_is_taken_over_because_redis_was_gone_for_a_minute(make_fleet: MakeFleet, pool: str) -> None:
    fleet = make_fleet({"engine": {"leaseSeconds": 8.0, "sweepSeconds": 1.0}})
    blocking.carry_through(blocking.take_away, fleet, pool, seconds=MINUTE)


@both_pools
def test_twenty_rolling_restarts_lose_and_repeat_nothing(make_fleet: MakeFleet, pool: str) -> None:
    rolling.roll(make_fleet({"engine": {"graceSeconds": 8.0}}), pool, restarts=20)


def test_10000_sessions_waiting_for_a_minute_are_woken_once_and_then_served(make_fleet: MakeFleet) -> None:
    fleet = backlog.unserved(make_fleet)
    sent = backlog.accept_all(fleet, 10_000)
    assert backlog.most_waiting(fleet, seconds=MINUTE) < 10_100
    backlog.serve(fleet, sent, within=600)
    assert backlog.rewakes(fleet) < 100
