"""Removes useless output of Celery and kombu.

On a signal to shut down, Celery writes "Warm shutdown" straight to stdout. Our ticker logs that a worker is leaving as
a line like any other. When Redis is full, kombu logs a traceback each second, because it cannot refresh the address
of its remote control. Our ticker says once that Redis is filling up.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TextIO

from celery.apps import worker
from redis.exceptions import OutOfMemoryError

# Typed as any module: the stubs do not know the function.
_module: ModuleType = worker
_say: Callable[[str, TextIO | None], None] = _module.safe_say


def _say_what_was_asked(text: str, stream: TextIO | None = sys.__stderr__) -> None:
    """Celery announces its shutdown on stdout, and writes what a person asked for, such as stacks, to stderr."""
    if stream is not sys.__stdout__:
        _say(text, stream)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], OutOfMemoryError)


def silence_full_redis_tracebacks() -> None:
    logging.getLogger("kombu.transport.redis").addFilter(_is_worth_a_line)


def silence_shutdown_message() -> None:
    """Have the signal handlers of this process use it."""
    vars(_module)["safe_say"] = _say_what_was_asked
