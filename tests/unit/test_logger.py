"""Loggers that load structlog late."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from openclaw_workers.logger import get_logger, set_up_at_first_line
from openclaw_workers.logs import SUPERVISED_VARIABLE, setup_logging


@pytest.fixture(autouse=True)
def restored_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(SUPERVISED_VARIABLE, "1")
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.parametrize("is_ours", [True, False], ids=["our line", "a line of a library"])
def test_logging_is_set_up_before_the_first_line(capsys: pytest.CaptureFixture[str], is_ours: bool) -> None:
    calls: list[str] = []

    def set_up() -> None:
        calls.append("set up")
        setup_logging(level="warning")

    set_up_at_first_line(set_up)
    log = get_logger("ours") if is_ours else logging.getLogger("library")
    assert not calls

    log.warning("store.disconnected")
    log.warning("store.connected")

    assert calls == ["set up"]
    assert capsys.readouterr().err.splitlines() == ["WARNING store.disconnected", "WARNING store.connected"]
