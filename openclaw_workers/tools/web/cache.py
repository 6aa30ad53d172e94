"""A cache of the last results of one process, each kept for a time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class ExpiringCache(Generic[ValueT]):
    def __init__(self, max_entries: int, ttl_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._now = now
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, tuple[float, ValueT]] = OrderedDict()

    def get(self, key: Hashable) -> ValueT | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            if found[0] <= self._now():
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, value: ValueT) -> None:
        if self._ttl_seconds <= 0:
            return
        with self._lock:
            self._entries[key] = (self._now() + self._ttl_seconds, value)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
