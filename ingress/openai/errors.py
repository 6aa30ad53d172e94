"""Errors in OpenAI's form: `{"error": {message, type, param, code}}`."""

from __future__ import annotations

from typing import Any

from openclaw_workers.client.deadline import WaitOver
from openclaw_workers.errors import BadInput, NotFound, OpenClawError, StoreFull, TransientError

INVALID = "invalid_request_error"
SERVER = "server_error"
TOO_MANY = "rate_limit_error"


class ApiError(Exception):
    """A request that is refused, or whose turn failed."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        kind: str = INVALID,
        param: str | None = None,
        should_retry: bool | None = None,
    ) -> None:
        """`should_retry` tells OpenAI's clients whether to send the same request again; None leaves it to them."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.kind = kind
        self.param = param
        self.should_retry = should_retry

    @property
    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.should_retry is None else {"x-should-retry": str(self.should_retry).lower()}


def api_error(error: OpenClawError, *, is_repeat_safe: bool) -> ApiError:
    """An error of ours. `is_repeat_safe`: the request has an idempotency key, so that it never makes a second turn."""
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    match error:
        case NotFound():
            return ApiError(404, message, code="not_found")
        case BadInput():
            return ApiError(400, message, code="invalid_request")
        case StoreFull():
            return ApiError(503, message, code="store_full", kind=SERVER)
        case WaitOver():
            return ApiError(503, message, code="ingress_stopping", kind=SERVER)
        case TransientError():
            # Nobody knows whether the message was stored; a client that sends it again may ask twice.
            return ApiError(
                503, message, code="store_unavailable", kind=SERVER, should_retry=None if is_repeat_safe else False
            )
    return ApiError(500, message, code="internal_error", kind=SERVER, should_retry=False)
