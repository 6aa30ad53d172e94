"""The asyncio connections of one ingress process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ingress.events.session_events import BLOCK_MS

CONNECTIONS = 8
POOL_SECONDS = 10


def connect_async(url: str, *, timeout_seconds: float) -> Redis:
    """A client for short reads; whoever finds all connections in use waits."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=POOL_SECONDS,
        decode_responses=True,
        encoding_errors="replace",
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        client_name="openclaw-ingress",
    )
    return Redis.from_pool(pool)


def script_connection(url: str, *, timeout_seconds: float) -> Callable[[], Any]:
    """Makes connections for scripts, whose caller keeps the time."""
    pool: Any = ConnectionPool.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",
        socket_connect_timeout=timeout_seconds,
        # Rule 13: a script may have run although its answer was lost, so the client must not repeat it by itself.
        retry=Retry(NoBackoff(), 0),
        client_name="openclaw-ingress-scripts",
    )
    make: Callable[[], Any] = pool.make_connection
    return make


def connect_reader(url: str, *, timeout_seconds: float) -> Redis:
    """A client with one connection, for reads that wait."""
    return Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",
        # Longer than the read blocks, or every quiet period would look like a lost connection.
        socket_timeout=BLOCK_MS / 1000 + timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        client_name="openclaw-ingress-events",
        max_connections=1,
    )
