"""Requests to the API, on asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from openclaw_workers.remote.address import (
    CONNECT_SECONDS,
    NO_QUERY,
    SILENT_SECONDS,
    ApiAddress,
    error_of,
    given_query,
    unreachable,
)


class AsyncTransport:
    """One connection pool for one event loop."""

    def __init__(self, address: ApiAddress, *, timeout: float = 60.0) -> None:
        self.address = address
        self._client = httpx2.AsyncClient(
            headers=address.headers, timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS), trust_env=False
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def request(
        self, method: str, path: str, *, query: Mapping[str, Any] = NO_QUERY, body: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a request and return the JSON of its answer.

        Raises:
            OpenClawError: as the same call would without HTTP; StoreUnavailable if nobody answers.
        """
        try:
            answer = await self._client.request(
                method, self.address.base + path, params=given_query(query), json=None if body is None else dict(body)
            )
        except httpx2.HTTPError as error:
            raise unreachable(self.address, error) from error
        if not answer.is_success:
            raise error_of(answer.status_code, answer.content)
        return answer.json()

    @asynccontextmanager
    async def events(self, path: str, **query: Any) -> AsyncIterator[httpx2.EventSource]:
        """A stream of server-sent events.

        Raises:
            OpenClawError: it is refused, or breaks off.
        """
        timeout = httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
        headers = {"Accept": "text/event-stream"}
        try:
            async with self._client.stream(
                "GET", self.address.base + path, params=given_query(query), headers=headers, timeout=timeout
            ) as answer:
                if not answer.is_success:
                    raise error_of(answer.status_code, await answer.aread())
                yield httpx2.EventSource(answer)
        except httpx2.HTTPError as error:
            raise unreachable(self.address, error) from error
