"""The HTTP client under both SDKs: its waits can be interrupted, and its connections are used again."""

from __future__ import annotations

import httpx2

from openclaw_workers.interruptible_http import make_interruptible
from openclaw_workers.providers.endpoint import CONNECT_SECONDS
from openclaw_workers.providers.http.connection_reuse import ReusingTransport


def http_client(idle_seconds: float) -> httpx2.Client:
    """A client for one endpoint, also through the proxies that the environment names.

    It follows no redirects: a key is for the address it was configured for.
    """
    timeout = httpx2.Timeout(idle_seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    # The lane's concurrency is the real limit. A smaller pool would make turns wait for a connection and time out.
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
    client = httpx2.Client(timeout=timeout, limits=limits, follow_redirects=False)
    client._transport = _prepared(client._transport)
    # Proxies from the environment are transports of their own, so they must be wrapped as well.
    client._mounts = {pattern: _prepared(each) if each else each for pattern, each in client._mounts.items()}
    return client


def _prepared(transport: httpx2.BaseTransport) -> httpx2.BaseTransport:
    make_interruptible(transport)
    return ReusingTransport(transport)
