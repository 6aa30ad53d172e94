"""Lets Flower look again when workers or places have come or gone: by itself it looks only when it starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys

PERIOD_SECONDS = 5.0
LOOKS = 2
"""After a change: a worker consumes the queue of a place only some ticks after the place is known."""


class FlowerRefresh(threading.Thread):
    def __init__(self, redis: Client, keys: Keys, refresh: Callable[[], object]) -> None:
        # A thread, because Flower answers only after it has waited for all workers, and the supervisor must not.
        super().__init__(name="ocw-flower-refresh", daemon=True)
        self._redis = redis
        self._keys = keys
        self._refresh = refresh
        self._known: object = None
        self._looks = 0

    def run(self) -> None:
        while True:
            time.sleep(PERIOD_SECONDS)
            self.look()

    def look(self) -> None:
        """Refresh after a change, and once more with the next look."""
        try:
            with store_errors():
                workers = frozenset(map(str, self._redis.zrange(self._keys.workers, 0, -1)))
                apart = frozenset(map(str, self._redis.zrange(self._keys.places_apart, 0, -1)))
                places = frozenset(map(str, self._redis.hvals(self._keys.places)))
        except StoreUnavailable:
            return  # the next look finds what has changed
        if (workers, apart, places) != self._known:
            self._known, self._looks = (workers, apart, places), LOOKS
        if self._looks:
            self._looks -= 1
            self._refresh()
