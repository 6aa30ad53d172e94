"""What a turn has written the next one reads, on whichever host workers are killed."""

from __future__ import annotations

from pathlib import Path

from tests.faults.conftest import MakeFleet
from tests.support.file_relay import relay


def test_a_file_is_read_by_the_next_turn_over_two_hosts_and_random_kills(make_fleet: MakeFleet, tmp_path: Path) -> None:
    relay(make_fleet({"engine": {"maxAttempts": 50}}), tmp_path, turns=15, kill_every=(2.0, 5.0))
