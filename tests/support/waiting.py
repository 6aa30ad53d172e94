"""Waits until a condition holds instead of sleeping for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def eventually(predicate: Callable[[], T | None], *, within: float, every: float = 0.02) -> T:
    """Return the first truthy value of `predicate`, or fail with the last value seen."""
    deadline = time.monotonic() + within
    while True:
        seen = predicate()
        if seen:
            return seen
        if time.monotonic() >= deadline:
            pytest.fail(f"still {seen!r} after {within} s")
        time.sleep(every)
