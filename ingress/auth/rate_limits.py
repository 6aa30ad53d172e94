"""Limits by token and by address. Each ingress process counts for itself."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ingress.errors import HttpError

MOST_NAMES = 10_000
BAD_TOKENS = 10
"""So many wrong tokens from one address within a minute lock it out for as long."""
MINUTE = 60.0


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A token bucket for each name: so many in a minute, and as many at once."""

    def __init__(self, per_minute: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_seconds(self, name: str, *, cost: float = 1.0) -> float:
        """Take from a bucket. If it is empty, how long until it is not; 0 otherwise."""
        bucket = self._refilled(name)
        if bucket.left < cost:
            return (cost - bucket.left) * MINUTE / self._per_minute
        bucket.left -= cost
        return 0.0

    def is_empty(self, name: str) -> bool:
        return name in self._buckets and self._refilled(name).left < 1

    def _refilled(self, name: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(self._per_minute, now)
            if len(self._buckets) > MOST_NAMES:
                self._buckets.popitem(last=False)
        bucket.left = min(self._per_minute, bucket.left + (now - bucket.at) * self._per_minute / MINUTE)
        bucket.at = now
        return bucket


def too_many(what: str, wait_seconds: float) -> HttpError:
    seconds = max(1, math.ceil(wait_seconds))
    return HttpError(429, what, hint=f"try again in {seconds} s", headers={"Retry-After": str(seconds)})
