"""What a turn has written the next one reads, a hundred times over two hosts and random kills."""

from __future__ import annotations

from pathlib import Path

from tests.support.file_relay import relay
from tests.support.fleet import Fleet


def test_a_file_is_read_by_the_next_turn_a_hundred_times(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", {"engine": {"maxAttempts": 50}}) as fleet:
        relay(fleet, tmp_path, turns=100, kill_every=(1.0, 5.0))
