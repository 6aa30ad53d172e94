"""The HTTP API: where it listens, who may use it, and its limits."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import Bytes, Names, Section

DEFAULT_PORT = 18789
MOST_BODY_BYTES = 256 << 20


def _check_origin(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise ValueError("expected an origin such as https://chat.example.com, without a path")
    return f"{parts.scheme}://{parts.netloc}".lower()


HostName = Annotated[str, StringConstraints(to_lower=True, pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
Origin = Annotated[str, AfterValidator(_check_origin)]


class GatewayLimitsSettings(Section):
    body: Bytes = Field(default=16 << 20, ge=1 << 10, le=MOST_BODY_BYTES)
    """Largest request body; attachments in it are a third larger than their files."""

    requests_per_minute: StrictInt = Field(default=1200, ge=1, le=10_000_000)
    """Requests that one token may make in a minute to one ingress process; without tokens, one address."""

    connections: StrictInt = Field(default=2048, ge=1, le=65_536)
    """Open connections of one ingress process; more are answered with 503."""

    idle_seconds: StrictFloat = Field(default=30.0, gt=0, le=3600)
    """Seconds a client may take to send a request, or to continue reading an answer."""


class GatewaySettings(Section):
    bind: HostName = "loopback"
    """Where it listens: loopback (this machine only), lan (every address of this machine), or one address."""

    port: StrictInt = Field(default=DEFAULT_PORT, ge=0, le=65_535)
    """TCP port; 0 takes a free one. `ocw up` takes another one if it is in use."""

    auth: Literal["token", "none"] = "token"
    """Who may use it: holders of a token, or, on loopback only, everybody on this machine."""

    allowed_hosts: Annotated[tuple[HostName, ...], *Names.__metadata__] = ()
    """Other names under which clients reach it, such as that of a proxy in front of it."""

    allowed_origins: tuple[Origin, ...] = ()
    """Origins of other web pages that may call the API, with a token."""

    limits: GatewayLimitsSettings = GatewayLimitsSettings.model_construct()
    """Limits of each ingress process."""

    @property
    def is_loopback(self) -> bool:
        if self.bind in ("loopback", "localhost"):
            return True
        try:
            return ipaddress.ip_address(self.bind).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """What the socket is bound to."""
        return {"loopback": "127.0.0.1", "lan": "0.0.0.0"}.get(self.bind, self.bind)  # noqa: S104

    @model_validator(mode="after")
    def _open_on_loopback_only(self) -> Self:
        if self.auth == "none" and not self.is_loopback:
            raise ValueError("expected auth: token unless bind is loopback")
        return self
