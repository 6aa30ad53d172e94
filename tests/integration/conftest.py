"""Fixtures for tests of whole commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw


@pytest.fixture(scope="module")
def live_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One worker for all tests of a module; each test uses its own sessions."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.worker()
        yield fleet


@pytest.fixture(scope="module")
def ocw_cli(live_fleet: Fleet) -> Ocw:
    return Ocw(live_fleet)


@pytest.fixture
def bare_fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Redis without a worker."""
    with Fleet(tmp_path / "fleet") as fleet:
        yield fleet
