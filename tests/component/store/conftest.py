"""The store's tests run twice: on an in-memory Redis, which is quick to debug, and on a real one, which counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fakeredis
import pytest
import redis as redis_py

from tests.component.store.harness import StoreHarness
from tests.support.redis_server import RedisServer

MakeStore = Callable[..., StoreHarness]


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
def make_store(redis: redis_py.Redis, namespace: str) -> MakeStore:
    def make(*, cap: int = 0) -> StoreHarness:
        return StoreHarness(redis, namespace, cap=cap)

    return make


@pytest.fixture
def store(make_store: MakeStore) -> StoreHarness:
    return make_store()
