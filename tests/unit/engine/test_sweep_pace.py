"""How often sweepers look: what is due is found soon, and the number of looks does not grow with the fleet."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest

from openclaw_workers.config.engine import EngineSettings
from openclaw_workers.engine.sweep.pace import SweepPace

SECONDS = 200.0
FIRST = 10.0
"""Looks before this are left out: all sweepers begin in the same moment."""


def looks_of(workers: int, source: random.Random) -> list[float]:
    """When the sweepers of a fleet look, each by its own pace."""
    looks = []
    for _ in range(workers):
        pace, at = SweepPace(EngineSettings().sweep_seconds, source), source.random()
        while at < SECONDS:
            looks.append(at)
            at += pace.until_next(workers)
    return sorted(looks)


@pytest.mark.parametrize("workers", [1, 3, 6, 10, 40, 120])
def test_what_is_due_is_found_soon_and_few_look_for_it(workers: int) -> None:
    source = random.Random(workers)
    looks = looks_of(workers, source)
    due = [source.uniform(FIRST, SECONDS - FIRST) for _ in range(5_000)]

    late = sorted(looks[bisect_left(looks, at)] - at for at in due)

    assert late[int(len(late) * 0.99)] <= 0.25
    assert len([at for at in looks if at >= FIRST]) / (SECONDS - FIRST) <= 60


def test_nobody_waits_so_long_that_a_fleet_that_shrank_is_not_noticed() -> None:
    pace = SweepPace(0.2, random.Random(1))
    assert max(pace.until_next(100_000) for _ in range(1000)) <= 6


def test_a_period_that_is_longer_than_the_share_of_a_worker_is_kept() -> None:
    pace = SweepPace(900.0, random.Random(1))
    assert all(630 <= pace.until_next(40) <= 1080 for _ in range(100))
