"""Where a model is reached, and with whose key."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from openclaw_workers.config.budgets import LimitSettings

CONNECT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 120.0
"""Between two events of a stream, for a provider's own service."""
SELF_HOSTED_IDLE_SECONDS: Final = 300.0
"""The same for a server nearby, which may have to load the model first."""
_UNLIMITED: Final = LimitSettings()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address with one key. Several of a provider can be in use at once; each has its own connections.

    Secrets print as asterisks, so that an endpoint may appear in logs and errors.
    """

    provider: str
    profile_id: str = "default"
    base_url: str | None = None
    """None: the provider's own."""
    api_key: SecretStr | None = None
    headers: tuple[tuple[str, SecretStr], ...] = ()
    idle_seconds: float = IDLE_SECONDS
    limits: LimitSettings = _UNLIMITED
    """What the whole fleet may ask by this key."""

    def plain_headers(self) -> dict[str, str]:
        return {name: value.get_secret_value() for name, value in self.headers}

    @property
    def host(self) -> str:
        """Host and port, without what may be secret in the address; "" for the provider's own."""
        return urlsplit(self.base_url or "").netloc.rpartition("@")[2]

    @property
    def known_as(self) -> str:
        """Under which name the fleet notes how it works; with another key or address it is another one.

        What was wrong with a mistyped key, or at another server, says nothing of what stands there now.
        """
        key = self.api_key.get_secret_value() if self.api_key else ""
        secret = repr((self.base_url, key, sorted(self.plain_headers().items())))
        return f"{self.provider}/{self.profile_id}@{hashlib.sha256(secret.encode()).hexdigest()[:8]}"


def idle_seconds_for(base_url: str | None) -> float:
    return SELF_HOSTED_IDLE_SECONDS if base_url and _is_nearby(base_url) else IDLE_SECONDS


def _is_nearby(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))
