"""Connections that serve the next call, also where an SDK stops before the end of a response.

OpenAI's SDK stops at `[DONE]` and closes the response, while the end of the body is still on its way. A connection
whose response was not read to its end cannot be used again, so each call would open one: over TLS, a handshake each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx2

from openclaw_workers.cancel import Cancel
from openclaw_workers.interruptible_http import current_cancel, reads_within

REST_BYTES: Final = 64 * 1024
REST_SECONDS: Final = 0.1
"""A handshake takes about as long as that, so waiting longer for the end would save nothing."""


class ReusingTransport(httpx2.BaseTransport):
    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        # The cancel is taken now: the response is closed outside of `interruptible_by`, where this thread has none.
        response.stream = _ReusableStream(response.stream, current_cancel())
        return response

    def close(self) -> None:
        self._inner.close()


class _ReusableStream(httpx2.SyncByteStream):
    """The body of a response. Closing it reads what little is left first."""

    def __init__(self, inner: httpx2.SyncByteStream, cancel: Cancel | None) -> None:
        self._inner = inner
        self._cancel = cancel
        self._chunks: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        self._chunks = iter(self._inner)
        yield from self._chunks
        self._chunks = None

    def close(self) -> None:
        chunks, self._chunks = self._chunks, None
        # The rest of a call that was given up may be long, and nobody is to wait for it.
        if chunks is not None and not (self._cancel and self._cancel.reason):
            _read_rest(chunks)
        self._inner.close()


def _read_rest(chunks: Iterator[bytes]) -> None:
    size = 0
    try:
        with reads_within(REST_SECONDS):
            for chunk in chunks:
                size += len(chunk)
                if size > REST_BYTES:
                    return
    except (httpx2.HTTPError, ValueError):
        # The answer is complete; only this connection is not used again. A generator that is running raises ValueError.
        return
