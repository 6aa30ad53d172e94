"""Soak tests take minutes. They run only with OCW_SOAK=1, which `make soak` sets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.conftest import make_fleet

__all__ = ["make_fleet"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("OCW_SOAK") == "1":
        return
    long = [item for item in items if HERE in item.path.parents]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)


@pytest.fixture
def soak_seconds() -> float:
    """How long the chaos lasts."""
    return 60 * float(os.environ.get("SOAK_MINUTES", "10"))
