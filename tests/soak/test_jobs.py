"""Scheduled jobs at full length: random faults of workers and Redis for SOAK_MINUTES (I7)."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.fleet import Fleet
from tests.support.job_chaos import JobChaosPlan, assert_each_time_once, config, run_job_chaos


def test_each_time_is_accepted_once_whatever_is_killed_and_frozen(tmp_path: Path, soak_seconds: float) -> None:
    begun, number = time.monotonic(), 0
    while number == 0 or time.monotonic() - begun < soak_seconds:
        with Fleet(tmp_path / str(number), config()) as fleet:
            run_job_chaos(fleet, JobChaosPlan(faults=24))
            assert_each_time_once(fleet)
        number += 1
