"""Loggers that load structlog when the first line is logged.

Most commands log nothing, and structlog takes longer to load than all else that a command needs. Modules that clients
import get their logger here; `openclaw_workers.logs` says how lines look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any


class LazyLogger:
    """A logger of structlog, made when it is first used."""

    __slots__ = ("_logger", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._logger: Any = None

    def __getattr__(self, method: str) -> Any:
        if self._logger is None:
            import structlog  # noqa: PLC0415 - loading it late is what this class is for

            _set_up_now()
            self._logger = structlog.get_logger(self._name)
        return getattr(self._logger, method)


def get_logger(name: str) -> Any:
    return LazyLogger(name)


def set_up_at_first_line(set_up: Callable[[], None]) -> None:
    """Call `set_up` before the first line of this process, whoever logs it. It replaces the root logger's handlers."""
    logging.getLogger().handlers[:] = [_SetUpFirst(set_up)]


class _SetUpFirst(logging.Handler):
    """Stands where the handlers will be."""

    def __init__(self, set_up: Callable[[], None]) -> None:
        super().__init__()
        self.set_up = set_up

    def emit(self, record: logging.LogRecord) -> None:
        self.set_up()
        for handler in logging.getLogger().handlers:
            handler.handle(record)


def _set_up_now() -> None:
    for handler in logging.getLogger().handlers[:]:
        if isinstance(handler, _SetUpFirst):
            handler.set_up()
