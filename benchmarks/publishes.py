"""How many messages Celery publishes for a turn.

It counts the messages that kombu puts into a queue, in the accepting client and in the worker: each is an LPUSH, so a
round trip. A wake-up that a script pushes while it makes a turn due does not count.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import redis
from kombu.transport.redis import Channel

COUNTER = "bench:publishes"
COUNTING = "bench:counting"
"""How many processes count."""


def count() -> Callable[[], None]:
    """Count in this process from now on, in a Redis key; returns a function that stops counting."""
    original = Channel._put
    counter = redis.Redis.from_url(os.environ["REDIS_URL"])

    @functools.wraps(original)
    def counted(channel: Any, queue: str, message: Any, **more: Any) -> Any:
        counter.incr(COUNTER)
        return original(channel, queue, message, **more)

    setattr(Channel, "_put", counted)  # noqa: B010 (mypy refuses to assign to a method)
    counter.incr(COUNTING)

    def end() -> None:
        setattr(Channel, "_put", original)  # noqa: B010
        counter.close()

    return end
