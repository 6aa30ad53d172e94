"""An endpoint: the URL of a provider's API with one key."""

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
"""The longest pause between two events of a stream."""
SELF_HOSTED_IDLE_SECONDS: Final = 300.0
"""The same for a server in the local network, which may have to load the model first."""
_UNLIMITED: Final = LimitSettings()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One URL with one key. A provider can have several, each with its own connections.

    Secrets print as asterisks, so that an endpoint may appear in logs and errors.
    """

    provider: str
    profile_id: str = "default"
    base_url: str | None = None
    """None means the provider's own URL."""
    api_key: SecretStr | None = None
    headers: tuple[tuple[str, SecretStr], ...] = ()
    idle_seconds: float = IDLE_SECONDS
    limits: LimitSettings = _UNLIMITED
    """Rate limits of the whole fleet for this key."""

    def plain_headers(self) -> dict[str, str]:
        return {name: value.get_secret_value() for name, value in self.headers}

    @property
    def host(self) -> str:
        """Host and port without a password; "" for the provider's own URL."""
        # This goes into error messages, and a URL may contain `user:password@`.
        return urlsplit(self.base_url or "").netloc.rpartition("@")[2]

    @property
    def known_as(self) -> str:
        """The name under which the fleet stores cooldowns. It changes with the key and the URL.

        A failure of a mistyped key, or of another server, says nothing about the corrected one.
        """
        key = self.api_key.get_secret_value() if self.api_key else ""
        # Hashed, because this name is stored in Redis and shown. Eight digits are enough to tell two keys apart.
        secret = repr((self.base_url, key, sorted(self.plain_headers().items())))
        return f"{self.provider}/{self.profile_id}@{hashlib.sha256(secret.encode()).hexdigest()[:8]}"


def idle_seconds_for(base_url: str | None) -> float:
    return SELF_HOSTED_IDLE_SECONDS if base_url and _is_nearby(base_url) else IDLE_SECONDS


def _is_nearby(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        # A name without a dot is a host of this network or a service of Compose.
        return "." not in host or host.endswith((".local", ".lan", ".internal"))
