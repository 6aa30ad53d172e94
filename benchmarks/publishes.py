"""How many messages Celery publishes for a turn.

Counted are the messages that kombu puts into a queue, an LPUSH and so a round trip each, by the client that accepts and
by the worker. The wake-up that a script pushes in the same moment as it makes a turn due is none of them.
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
"""How many processes have begun to count."""


def count() -> Callable[[], None]:
    """Count from now on, in this process, for all to read in Redis; returns what ends it."""
    original = Channel._put
    counter = redis.Redis.from_url(os.environ["REDIS_URL"])

    @functools.wraps(original)
    def counted(channel: Any, queue: str, message: Any, **more: Any) -> Any:
        counter.incr(COUNTER)
        return original(channel, queue, message, **more)

    setattr(Channel, "_put", counted)  # noqa: B010 (a method is not to be assigned to)
    counter.incr(COUNTING)

    def end() -> None:
        setattr(Channel, "_put", original)  # noqa: B010
        counter.close()

    return end
