"""Requests to the API, one after the other. Commands use it: it loads nothing but the standard library."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from openclaw_workers.errors import OpenClawError
from openclaw_workers.remote.address import (
    CONNECT_SECONDS,
    NO_QUERY,
    PREFIX,
    SILENT_SECONDS,
    ApiAddress,
    error_of,
    given_query,
    unreachable,
)

FAILURES = (OSError, HTTPException)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One server-sent event."""

    id: str
    event: str
    data: str


class BlockingTransport:
    """One connection, kept open between requests."""

    def __init__(self, address: ApiAddress, *, timeout: float = 60.0) -> None:
        self.address = address
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connects(self) -> bool:
        """Whether somebody listens; the connection is kept for the first request."""
        try:
            self._open()
        except OpenClawError:
            return False
        return True

    def request(
        self, method: str, path: str, *, query: Mapping[str, Any] = NO_QUERY, body: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a request and return the JSON of its answer.

        Raises:
            OpenClawError: as the same call would without HTTP; StoreUnavailable if nobody answers.
        """
        try:
            answer = self._send(self._open(), method, path, query, body)
            content = answer.read()
        except BaseException as error:
            self.close()  # the answer of this request must not be taken for that of the next
            if isinstance(error, FAILURES):
                raise unreachable(self.address, error) from error
            raise
        if not 200 <= answer.status < 300:
            raise error_of(answer.status, content)
        return json.loads(content)

    def events(self, path: str, **query: Any) -> EventStream:
        """A stream of server-sent events, on a connection of its own.

        Raises:
            OpenClawError: it is refused, or nobody answers.
        """
        connection = self._connect()
        try:
            answer = self._send(connection, "GET", path, query, None)
            refusal = None if answer.status == 200 else error_of(answer.status, answer.read())
        except FAILURES as error:
            connection.close()
            raise unreachable(self.address, error) from error
        if refusal is not None:
            connection.close()
            raise refusal
        return EventStream(connection, answer)

    def _open(self) -> HTTPConnection:
        """The connection of the last request, unless the server has closed it meanwhile."""
        kept = self._connection
        # Between two requests nothing should arrive, so a readable socket means that the server has closed it.
        if kept is not None and kept.sock is not None and _is_readable(kept.sock):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
            self._connection.sock.settimeout(self._timeout)
        return self._connection

    def _connect(self) -> HTTPConnection:
        parts = urlsplit(self.address.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
        except FAILURES as error:
            raise unreachable(self.address, error) from error
        connection.sock.settimeout(SILENT_SECONDS)
        return connection

    def _send(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
    ) -> HTTPResponse:
        given = urlencode(given_query(query))
        target = urlsplit(self.address.url).path.rstrip("/") + PREFIX + path + (f"?{given}" if given else "")
        headers, content = dict(self.address.headers), None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(dict(body)).encode()
        connection.request(method, target, body=content, headers=headers)
        return connection.getresponse()


def _is_readable(connection: socket.socket) -> bool:
    """Whether something arrived. Between two requests that can only be the end of the connection."""
    with selectors.DefaultSelector() as selector:  # unlike select(), for any number of open files
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(0))


class EventStream:
    """The events of one answer. `close` may be called by another thread; the iteration then ends."""

    def __init__(self, connection: HTTPConnection, answer: HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer
        self._socket = connection.sock

    def __iter__(self) -> Iterator[ServerEvent]:
        """Raises OSError or HTTPException if the stream breaks off."""
        event_id, event, data = "", "message", list[str]()
        while line := self._answer.readline():
            name, _, value = line.decode(errors="replace").rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            match name:
                case "id":
                    event_id = value
                case "event":
                    event = value
                case "data":
                    data.append(value)
                case "" if data and not value:  # an empty line ends an event; a comment has a value
                    yield ServerEvent(event_id, event, "\n".join(data))
                    event, data = "message", []

    def close(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # Closing a socket does not wake a thread that reads from it; shutting it down does.
                self._socket.shutdown(2)
        self._connection.close()
