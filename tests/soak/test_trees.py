"""Chaos in session trees for as long as you like; each round prints its seed, and OCW_SEED repeats one."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.test_tree_chaos import weather
from tests.faults.test_tree_park import close_calls
from tests.support.fleet import Fleet
from tests.support.rig import NO_SWEEP, staff
from tests.support.tree_chaos import Forest


def test_thirty_trees_and_more_survive_a_minute_of_faults_again_and_again(
    tmp_path: Path, soak_seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    for number in itertools.count():
        forest = Forest(trees=30 + 10 * (number % 4), seconds=60, meddling=12)
        with Fleet(tmp_path / str(number), forest.config()) as fleet, capsys.disabled():
            weather(fleet, forest)
        if time.monotonic() - begun > soak_seconds:
            break


def test_of_three_hundred_parents_that_park_while_their_children_end_none_is_overslept(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(NO_SWEEP)
    staff(fleet, "main", "subagent", "service", concurrency=64)
    chance = random.Random(300)
    for number in range(10):
        close_calls(fleet, chance, [f"s{number}-{n}" for n in range(6)])
