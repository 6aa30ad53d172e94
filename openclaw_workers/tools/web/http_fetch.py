"""Fetch one web page: check its address, follow a few redirects, read a bounded part of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.interruptible_http import interruptible_by
from openclaw_workers.tools.web.body import ACCEPTED_ENCODINGS, Body, read_body
from openclaw_workers.tools.web.connections import timeouts
from openclaw_workers.tools.web.urls import checked_url

_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str
    """Where it was found, after all redirects."""
    status: int
    content_type: str
    data: bytes
    is_cut: bool
    """Whether it was longer than is read."""


class HttpFetcher:
    """Sends no cookies and no credentials, and keeps none."""

    def __init__(self, transport: httpx2.BaseTransport, *, max_bytes: int, max_redirects: int, user_agent: str) -> None:
        self._transport = transport
        self._max_bytes = max_bytes
        self._max_redirects = max_redirects
        self._headers = {"User-Agent": user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPTED_ENCODINGS}

    def get(self, text: str, *, cancel: Cancel, timeout_seconds: float) -> Fetched:
        """Fetch a page.

        Raises:
            ToolError: the address is refused, or the page cannot be had.
            ToolTimedOut: it took too long.
            TurnEnded: the turn was stopped in the meantime.
        """
        url = checked_url(text)
        seen = {str(url)}
        with within(cancel, timeout_seconds, f"{url} did not answer") as until:
            for _ in range(self._max_redirects + 1):
                response, body = send(
                    self._transport,
                    httpx2.Request("GET", url, headers=self._headers),
                    until,
                    max_bytes=self._max_bytes,
                    timeout_seconds=timeout_seconds,
                )
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or not location:
                    content_type = response.headers.get("content-type", "")
                    return Fetched(str(url), response.status_code, content_type, body.data, body.is_cut)
                url = _redirected(url, location)
                if str(url) in seen:
                    raise ToolError(f"{url} redirects in a circle")
                seen.add(str(url))
        raise ToolError(f"{text[:200]!r} redirects more than {self._max_redirects} times; the last one led to {url}")


def _redirected(url: httpx2.URL, location: str) -> httpx2.URL:
    """Where a redirect leads; it is checked like the first address."""
    try:
        return checked_url(str(url.join(location)))
    except httpx2.InvalidURL as error:
        raise ToolError(f"{url} redirects to {location[:200]!r}, which is not a URL") from error
    except ToolError as error:
        raise ToolError(f"{url} redirects: {error.message}") from error


@contextmanager
def within(cancel: Cancel, seconds: float, what: str) -> Iterator[Cancel]:
    """Yield a flag that is set when the turn is stopped or the time is up. It ends waits of any kind, also for names.

    Raises:
        ToolTimedOut: the time was up before the block ended.
    """
    until = Cancel()
    # A read timeout starts again with every byte, so a slow server could hold the call for ever.
    timer = threading.Timer(seconds, until.set, [ToolTimedOut(f"{what} within {seconds:g} s")])
    timer.daemon = True
    timer.start()
    try:
        with cancel.on_set(lambda: until.set(cancel.reason or ToolError("the call was given up"))):
            yield until
    finally:
        timer.cancel()


def send(
    transport: httpx2.BaseTransport, request: httpx2.Request, until: Cancel, *, max_bytes: int, timeout_seconds: float
) -> tuple[httpx2.Response, Body]:
    """Send one request and read its response, until `until` is set.

    Raises:
        ToolError: it failed.
    """
    request.extensions = {**request.extensions, "timeout": timeouts(timeout_seconds)}
    try:
        with interruptible_by(until):
            response = transport.handle_request(request)
            try:
                assert isinstance(response.stream, httpx2.SyncByteStream)
                body = read_body(response.stream, response.headers.get("content-encoding", ""), max_bytes)
            finally:
                response.close()
    except httpx2.HTTPError as error:
        why = str(error) or type(error).__name__
        raise ToolError(f"{request.url.host} could not be reached: {why}") from error
    until.check()  # a socket that was shut down reads as the end of the response
    return response, body
