"""Memory in Redis: which agents' memory may have changed, and who brings their part of a server's index up to date."""

from __future__ import annotations

from typing import Any

from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.place_requests import take_lease


class MemoryRequests:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def lock_sync(self, name: str, token: str, lease_ms: int) -> bool:
        """The right to bring one agent's part of a server's index up to date; 0 milliseconds give it up."""
        return take_lease(self._redis, self._keys.memory_sync(name), token, lease_ms)

    def want_sync(self, place: str, agent_id: str) -> None:
        """Say that an agent's memory may have changed. Nobody waits for it."""
        with store_errors():
            self._redis.sadd(self._keys.memory_wanted(place), agent_id)

    def wanted(self, place: str) -> list[str]:
        """The agents of which that was said since the last time."""
        with store_errors():
            found: Any = self._redis.spop(self._keys.memory_wanted(place), 100)
        return [str(each) for each in found or []]
