"""Where the API is, and how it reports errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from openclaw_workers.errors import (
    AccessDenied,
    BadInput,
    ConflictError,
    CorruptRecord,
    NotFound,
    OpenClawError,
    StoreUnavailable,
    TransientError,
)

URL_VARIABLE = "OPENCLAW_URL"
TOKEN_VARIABLE = "OPENCLAW_TOKEN"  # noqa: S105 - the name of a variable
PREFIX = "/api/v1"
TERMINAL_HEADER = "X-OpenClaw-Terminal"
"""Names the user whose command speaks, on the machine of the installation."""

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 40.0
"""An event stream sends a comment every 15 seconds, so one that is silent for this long is dead."""
GONE_SECONDS = 0.5
"""How long a reader waits before it asks again about a session that is gone."""
NO_QUERY: Mapping[str, Any] = MappingProxyType({})

REJECTIONS = frozenset(("busy", "full", "children", "tree", "gone"))
"""Codes of a session that does not take a message."""

_BY_STATUS: Mapping[int, type[OpenClawError]] = {
    400: BadInput,
    401: AccessDenied,
    403: AccessDenied,
    404: NotFound,
    409: ConflictError,
    413: BadInput,
    422: BadInput,
    429: TransientError,
}


class MessageRejected(ConflictError):
    """The session does not take the message; `reason` says why."""

    def __init__(self, message: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """The root of an installation's HTTP API, and the token to use it with.

    Raises:
        BadInput: it is no such address.
    """

    url: str
    token: str = field(default="", repr=False)
    terminal: str = ""
    """The user whose command speaks to the ingress of their own machine."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(
                f"{self.url!r} is not the address of an ingress",
                hint="expected http://host:port, as `ocw up` prints it",
            )

    @property
    def base(self) -> str:
        return self.url.rstrip("/") + PREFIX

    @property
    def headers(self) -> dict[str, str]:
        headers = {"User-Agent": "openclaw-workers"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.terminal:
            # A user name may hold characters that a header cannot.
            headers[TERMINAL_HEADER] = quote(self.terminal)
        return headers


def path_of(*parts: str) -> str:
    """A path whose parts, such as session keys, may hold any character."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def given_query(query: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not given; flags as JSON writes them."""
    given = {name: value for name, value in query.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


def error_of(status: int, body: bytes) -> OpenClawError:
    """The error that an answer tells of, as the same class that a local call would raise."""
    try:
        failure: Any = json.loads(body)["error"]
        message, hint, code = str(failure["message"]), failure.get("hint"), failure.get("code")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, hint, code = f"the ingress answered with status {status}", None, None
    if code == "corrupt_record":
        # The class builds its message from these two parts, so the message is taken apart again.
        where, _, why = message.partition(" cannot be read: ")
        return CorruptRecord(where, why, hint=hint)
    if status == 409 and code in REJECTIONS:
        return MessageRejected(message, code, hint=hint)
    if code == "transient_error":
        return TransientError(message, hint=hint)
    # A 5xx may be over soon. As StoreUnavailable it makes conversations wait and try again.
    kind = _BY_STATUS.get(status) or (StoreUnavailable if status >= 500 else OpenClawError)
    return kind(message, hint=hint)


def unreachable(address: ApiAddress, error: Exception) -> StoreUnavailable:
    why = str(error) or type(error).__name__
    return StoreUnavailable(
        f"{address.url} did not answer ({why})",
        hint=f"check {URL_VARIABLE}, and that `ocw up` or `ocw ingress` runs there",
    )
