"""A fake Bot API, and fleets whose ingress talks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_telegram import FakeTelegram
from tests.support.telegram_fleet import TelegramFleet

MakeFleet = Callable[..., TelegramFleet]


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        yield fake


@pytest.fixture
def make_fleet(telegram: FakeTelegram, tmp_path: Path) -> Iterator[MakeFleet]:
    with ExitStack() as stack:

        def make(**config: Any) -> TelegramFleet:
            return stack.enter_context(TelegramFleet(tmp_path / "fleet", telegram, config))

        yield make


@pytest.fixture
def fleet(make_fleet: MakeFleet) -> TelegramFleet:
    """One worker and one ingress."""
    made = make_fleet()
    made.worker("main", wait=False)
    made.ingress()
    made.ready(*made.workers)
    return made
