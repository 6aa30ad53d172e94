"""Fixtures for the whole suite: a real Redis and a namespace per test."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator

import pytest
import redis
from hypothesis import settings

from tests.support.redis_server import RedisServer

# How long an example takes depends on what else the machine does; a test that hangs is ended by its own time-out.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# A shell that starts the suite in the background has it ignore Ctrl-C, and whoever does hands that on to its children.
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
