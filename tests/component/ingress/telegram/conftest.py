"""A fake Bot API for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_telegram import FakeTelegram


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        yield fake
