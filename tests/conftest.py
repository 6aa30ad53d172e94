"""Fixtures for the whole suite: a real Redis and a namespace per test."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator

import pytest
import redis
from hypothesis import settings

from openclaw_workers import hooks
from tests.support.left_out import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_setup,
    pytest_sessionfinish,
)
from tests.support.redis_server import RedisServer

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_runtest_setup", "pytest_sessionfinish"]

# A busy machine makes examples slow. pytest's own timeout ends a test that hangs.
# Hypothesis has other defaults where CI is set; the suite is the same everywhere.
settings.register_profile("suite", parent=settings.get_profile("default"), deadline=None)
settings.load_profile("suite")

# A shell that starts the suite in the background makes it ignore Ctrl-C, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server for the session. A test that kills or freezes Redis starts its own."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client on an empty database."""
    with redis_server.client() as client:
        client.flushdb()
        yield client


@pytest.fixture
def namespace() -> str:
    """A key prefix no other test uses."""
    return f"t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def no_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plugin listens, but those that the test registers; they are forgotten after it."""
    monkeypatch.setattr(hooks, "_registry", hooks._Registry())
