"""A server behind an address: streamable HTTP, with a limit for what it may send."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from openclaw_workers.tools.mcp.flood_guard import Flooded, FloodGuard

CONNECT_SECONDS = 30.0

OnLost = Callable[[str], None]


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, guard: FloodGuard, on_lost: OnLost, *, is_events: bool) -> None:
        self._stream = stream
        self._guard = guard
        self._on_lost = on_lost
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            try:
                self._guard.add(len(chunk), chunk.count(b"\n\n"))
                if not self._is_events:  # the SDK limits each event
                    self._guard.check_message(size)
            except Flooded as flood:
                # Before the error, which would otherwise be reported as the reason.
                self._on_lost(str(flood))
                raise httpx2.ReadError(str(flood)) from flood
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _CountingTransport(httpx2.AsyncBaseTransport):
    def __init__(self, guard: FloodGuard, on_lost: OnLost) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._guard = guard
        self._on_lost = on_lost

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = _CountedStream(response.stream, self._guard, self._on_lost, is_events=is_events)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_transport(
    url: str, headers: Mapping[str, str], guard: FloodGuard, on_lost: OnLost
) -> AsyncGenerator[Any, None]:
    """Yields the server's messages and where to send ours. Connects with the first message."""
    # Nothing arrives on an idle event stream for hours; each call has a time limit of its own.
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
    transport = _CountingTransport(guard, on_lost)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=transport) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=guard.max_message_bytes) as streams,
    ):
        yield streams
