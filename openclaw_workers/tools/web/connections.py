"""Connections to public addresses only.

A name is looked up once for each connection. The addresses that were found are checked, and the connection is made to
one of exactly these. So a name server that answers differently the next time (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2
import httpx2

from openclaw_workers.errors import ToolError
from openclaw_workers.interruptible_http import make_interruptible
from openclaw_workers.tools.web.addresses import Denial, address_denial

Resolve = Callable[[str, int], list[str]]
"""The addresses of a host name."""

_CONNECT_SECONDS = 10.0
_TRIED_ADDRESSES = 4


def system_resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class PinnedBackend(httpcore2.NetworkBackend):
    """Connects to addresses that were checked, never to names."""

    def __init__(self, resolve: Resolve, denial: Denial) -> None:
        self._resolve = resolve
        self._denial = denial
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Raises ToolError if the host may not be connected to, or cannot be found."""
        error: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses(host, port)[:_TRIED_ADDRESSES]:
            try:
                return self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failed:
                error = failed
        raise error

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            raise ToolError(f"the host {host!r} was not found: {why or error}") from error
        for address in addresses:
            # One private address among public ones is a trick too.
            if why := self._denial(address):
                raise ToolError(f"{host!r} leads to {address} and is not fetched: {why}")
        return addresses


def guarded_transport(
    *, resolve: Resolve = system_resolve, denial: Denial = address_denial, verify: ssl.SSLContext | None = None
) -> httpx2.HTTPTransport:
    """A transport without proxies and without kept connections; its waits end when a turn is stopped."""
    context = verify or httpx2.create_ssl_context()
    transport = httpx2.HTTPTransport(verify=context, trust_env=False)
    # The transport has no parameter for the network backend.
    transport._pool = httpcore2.ConnectionPool(
        ssl_context=context, max_keepalive_connections=0, network_backend=PinnedBackend(resolve, denial)
    )
    make_interruptible(transport)
    return transport


def timeouts(seconds: float) -> dict[str, float]:
    """The limits of the single waits of a request that may take this long; the whole of it is ended by its flag."""
    longer = seconds + 1
    return {"connect": min(_CONNECT_SECONDS, longer), "read": longer, "write": longer, "pool": longer}
