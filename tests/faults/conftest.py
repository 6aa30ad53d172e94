"""Fixtures for tests that kill, pause and restart real processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet

MakeFleet = Callable[..., Fleet]


@pytest.fixture
def make_fleet(tmp_path: Path) -> Iterator[MakeFleet]:
    """Start fleets that end with the test; their logs are shown if it fails."""
    fleets: list[Fleet] = []
    with ExitStack() as stack:

        def make(config: dict[str, Any] | None = None, *, defaults: bool = False) -> Fleet:
            fleet = Fleet(tmp_path / f"fleet-{len(fleets) + 1}", config, defaults=defaults)
            fleets.append(fleet)
            return stack.enter_context(fleet)

        yield make
        for fleet in fleets:
            # Captured, so pytest prints it only for a test that failed.
            sys.stdout.write(fleet.logs())


@pytest.fixture
def fleet(make_fleet: MakeFleet) -> Fleet:
    """A fleet with short timings and no workers yet."""
    return make_fleet()
