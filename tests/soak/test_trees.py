"""Chaos in session trees for SOAK_MINUTES. Each round prints its seed; OCW_SEED repeats a round."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from tests.faults.test_tree_chaos import survive_chaos
from tests.support.fleet import Fleet
from tests.support.tree_chaos import TreeChaosPlan


def test_many_trees_survive_a_minute_of_faults_per_round(
    tmp_path: Path, soak_seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    for number in itertools.count():
        plan = TreeChaosPlan(trees=30 + 10 * (number % 4), seconds=60, interventions=12)
        with Fleet(tmp_path / str(number), plan.config()) as fleet, capsys.disabled():
            survive_chaos(fleet, plan)
        if time.monotonic() - begun > soak_seconds:
            break
