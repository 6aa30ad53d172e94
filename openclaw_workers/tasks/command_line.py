"""Celery without the lines it writes past all logging.

When a signal tells it to leave, it writes "Warm shutdown" straight to stdout. Our ticker logs that a worker leaves as a
line like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TextIO

from celery.apps import worker

# Typed as any module: the stubs do not know the function.
_module: ModuleType = worker
_say: Callable[[str, TextIO | None], None] = _module.safe_say


def _say_what_was_asked(text: str, stream: TextIO | None = sys.__stderr__) -> None:
    """On stdout Celery tells of its shutdown; on stderr is what a person asked for, such as the stacks at SIGUSR1."""
    if stream is not sys.__stdout__:
        _say(text, stream)


def silence_shutdown_message() -> None:
    """Have the signal handlers of this process use it."""
    vars(_module)["safe_say"] = _say_what_was_asked
