"""What every request passes first: Host and Origin, and the size of its body; and headers on every answer."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ingress.errors import HttpError, error_response
from ingress.server.hosts import Hosts, is_same_origin

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PREFLIGHT_SECONDS = "600"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cache-control": "no-store",
}
"""Set unless the answer has its own."""
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NAMES = frozenset(name for name, _ in _PAIRS)


class Guard:
    def __init__(self, app: ASGIApp, hosts: Hosts, *, most_body_bytes: int) -> None:
        self._app = app
        self._hosts = hosts
        self._most = most_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _by_name(scope["headers"])
        allowed_origin = ""
        response: Response | None = None
        try:
            allowed_origin = self._check(scope, headers)
            if scope["method"] == "OPTIONS" and allowed_origin and b"access-control-request-method" in headers:
                response = _preflight()
        except HttpError as error:
            response = error_response(error)
        if allowed_origin:
            # A page of another origin acts with a token, never with the cookie of whoever looks at it.
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"cookie"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message, allowed_origin)
            await send(message)

        if response is not None:
            await response(scope, receive, send_with_headers)
        else:
            await self._app(scope, _LimitedBody(receive, self._most), send_with_headers)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        """The origin of another page that may call us; empty for our own pages and for programs.

        Raises:
            HttpError: this request is not for us, or too large.
        """
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._hosts.is_ours(host):
            hint = "list the name under gateway.allowedHosts if clients reach this ingress by it"
            raise HttpError(403, "this host name is not served here", hint=hint, code="foreign_host")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._most:
            raise HttpError(413, f"the body is larger than {self._most:,} bytes", hint="gateway.limits.body sets it")
        return self._foreign_origin(scope, headers, host)

    def _foreign_origin(self, scope: Scope, headers: dict[bytes, bytes], host: str) -> str:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and is_same_origin(origin, host):
            return ""
        if origin and self._hosts.is_allowed(origin):
            return origin
        from_elsewhere = headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
        is_navigation = headers.get(b"sec-fetch-mode") == b"navigate" and scope["method"] in SAFE_METHODS
        if origin or (from_elsewhere and not is_navigation):
            hint = "list the origin under gateway.allowedOrigins if its pages may call the API"
            raise HttpError(403, "this origin may not call the API", hint=hint, code="foreign_origin")
        by_cookie = b"cookie" in headers and b"authorization" not in headers
        is_own_page = origin or headers.get(b"sec-fetch-site") == b"same-origin"
        if scope["method"] not in SAFE_METHODS and by_cookie and not is_own_page:
            raise HttpError(403, "a request with a cookie needs an Origin", code="foreign_origin")
        return ""


class _LimitedBody:
    """Receives a body up to a size."""

    __slots__ = ("_left", "_most", "_receive")

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._left = most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise HttpError(413, f"the body is larger than {self._most:,} bytes", headers={"Connection": "close"})
        return message


def _by_name(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name. One that must be unique and is not has no value that anything matches."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = value if name not in found else b"\0"
    return found


def _add_headers(message: Message, allowed_origin: str) -> None:
    raw: list[tuple[bytes, bytes]] = list(message["headers"])
    given = {name for name, _ in raw}
    raw += _PAIRS if _NAMES.isdisjoint(given) else [pair for pair in _PAIRS if pair[0] not in given]
    if allowed_origin:
        raw += [(b"access-control-allow-origin", allowed_origin.encode("latin-1")), (b"vary", b"Origin")]
    message["headers"] = raw


def _preflight() -> Response:
    headers: dict[str, Any] = {
        "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID",
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }
    return Response(status_code=204, headers=headers)
