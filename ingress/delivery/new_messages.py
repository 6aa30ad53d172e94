"""Waits for new messages in the outbox, so that they are sent at once and nobody polls for them."""

from __future__ import annotations

from redis.asyncio import Redis

from openclaw_workers.store.client import store_errors
from openclaw_workers.store.keys import Keys


class NewMessages:
    def __init__(self, redis: Redis, keys: Keys, *, timeout_seconds: float) -> None:
        """`timeout_seconds` is the socket time-out of `redis`; no wait is longer than most of it."""
        self._redis = redis
        self._keys = keys
        self._most_seconds = timeout_seconds * 0.8

    async def wait(self, seconds: float) -> None:
        """Return when a message is there that no sender has sorted yet, or when the time is over.

        Raises:
            StoreUnavailable: Redis did not answer.
        """
        milliseconds = max(1, int(min(seconds, self._most_seconds) * 1000))
        with store_errors():
            # Senders delete what they have sorted, so that whatever is in the stream is new.
            await self._redis.xread({self._keys.outgoing: "0"}, count=1, block=milliseconds)
