"""Errors as HTTP answers: `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from openclaw_workers.errors import (
    BadInput,
    ConfigurationError,
    ConflictError,
    CorruptRecord,
    NotFound,
    OpenClawError,
    TransientError,
)

log = structlog.get_logger(__name__)

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
RETRY_SECONDS = 2

_STATUS: tuple[tuple[type[OpenClawError], int], ...] = (
    (NotFound, 404),
    (BadInput, 400),
    (ConfigurationError, 422),
    (ConflictError, 409),
    (CorruptRecord, 409),
    (TransientError, 503),
)
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "rate_limited",
    503: "unavailable",
}


class HttpError(OpenClawError):
    """An error with its HTTP status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code or _CODES.get(status, "error")
        self.headers = headers


def as_http(error: OpenClawError) -> HttpError:
    """The HTTP form of an error that the engine raised."""
    if isinstance(error, HttpError):
        return error
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else NO_HEADERS
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
    return HttpError(status, error.message, hint=error.hint, code=code, headers=headers)


def error_response(error: HttpError) -> JSONResponse:
    body = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    return JSONResponse(body, status_code=error.status, headers=dict(error.headers))


async def on_known_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OpenClawError)
    return error_response(as_http(error))


async def on_http_exception(request: Request, error: Exception) -> JSONResponse:
    """What Starlette itself raises: no such route, or not with this method."""
    assert isinstance(error, HTTPException)
    message = f"no such address: {request.url.path}" if error.status_code == 404 else error.detail
    return error_response(HttpError(error.status_code, message, headers=error.headers or NO_HEADERS))


async def on_bug(request: Request, error: Exception) -> JSONResponse:
    log.error("request.failed", path=request.url.path, error=repr(error), exc_info=error)
    hint = "this is a bug; the log of the ingress has the details"
    return error_response(HttpError(500, "unexpected error", hint=hint, code="internal"))
