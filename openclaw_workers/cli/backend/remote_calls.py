"""Requests to the HTTP API of an installation."""

from __future__ import annotations

from typing import Any

from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.remote.address import ApiAddress
from openclaw_workers.remote.blocking import BlockingTransport

PAGE = 1000


class RemoteCalls:
    """A part of the remote backend."""

    def __init__(self, address: ApiAddress) -> None:
        self._transport = BlockingTransport(address)

    def _pages(self, path: str, limit: int | None) -> list[Json]:
        """The newest entries of a transcript, read from the end."""
        found: list[Json] = []
        before: int | None = None
        # `first` is 0 when the beginning of the transcript has been read.
        while before != 0 and (limit is None or len(found) < limit):
            page = PAGE if limit is None else min(PAGE, limit - len(found))
            answer = self._get(path, limit=page, before=before)
            found = [*answer["entries"], *found]
            before = answer["first"]
        return found

    def _get(self, path: str, /, **query: Any) -> Json:
        return self._request("GET", path, query=query)

    def _post(self, path: str, /, **body: Any) -> Json:
        return self._request("POST", path, body={name: value for name, value in body.items() if value is not None})

    def _request(self, method: str, path: str, **parts: Any) -> Json:
        answer: Json = self._transport.request(method, path, **parts)
        return answer
