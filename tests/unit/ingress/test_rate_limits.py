"""Limits by name: so many in a minute, and as many at once."""

from __future__ import annotations

from ingress.auth.rate_limits import MOST_NAMES, RateLimit, too_many


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_is_used_up_and_fills_again() -> None:
    clock = Clock()
    limit = RateLimit(60, clock=clock)
    assert [limit.wait_seconds("a") for _ in range(60)] == [0.0] * 60
    assert limit.wait_seconds("a") == 1.0
    assert limit.is_empty("a")
    clock.now = 1.0
    assert not limit.is_empty("a")
    assert limit.wait_seconds("a") == 0.0
    clock.now = 1000.0
    assert sum(limit.wait_seconds("a") == 0 for _ in range(100)) == 60, "it holds no more than a minute's worth"


def test_names_do_not_share() -> None:
    limit = RateLimit(1, clock=Clock())
    assert [limit.wait_seconds(name) for name in ("a", "b", "a")] == [0.0, 0.0, 60.0]
    assert not limit.is_empty("never asked")


def test_many_names_do_not_fill_the_memory() -> None:
    limit = RateLimit(1, clock=Clock())
    for number in range(MOST_NAMES + 100):
        limit.wait_seconds(str(number))
    assert len(limit._buckets) == MOST_NAMES


def test_who_must_wait_learns_for_how_long() -> None:
    error = too_many("too many", 0.2)
    assert (error.status, error.headers["Retry-After"]) == (429, "1")
