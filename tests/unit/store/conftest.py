"""The store's tests run twice: on an in-memory Redis, which is quick to debug, and on a real one, which counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fakeredis
import pytest
import redis as redis_py

from tests.support.redis_server import RedisServer
from tests.unit.store.desk import Desk

MakeDesk = Callable[..., Desk]


@pytest.fixture(params=["fake", "real"])
def redis(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[redis_py.Redis]:
    """An empty database."""
    if request.param == "fake":
        with fakeredis.FakeRedis(decode_responses=True) as fake:
            yield fake
        return
    with redis_server.client() as real:
        real.flushdb()
        yield real


@pytest.fixture
def make_desk(redis: redis_py.Redis, namespace: str) -> MakeDesk:
    def make(*, cap: int = 0) -> Desk:
        return Desk(redis, namespace, cap=cap)

    return make


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    return make_desk()
