"""A wire-level server for each test that wants one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.wire import WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running
