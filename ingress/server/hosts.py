"""Under which names this ingress is reached, and from which web pages.

A page of another site can make a browser call any address, also one on this machine, under a name of its own. Such a
request carries a Host or an Origin that is not ours.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from openclaw_workers.config.gateway import GatewaySettings

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Hosts:
    def __init__(self, names: Iterable[str], origins: Iterable[str], *, any_address: bool) -> None:
        """`any_address`: a bare IP address is fine too; no name of another site leads to one."""
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origins)
        self._any_address = any_address

    def is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name in self._names or (self._any_address and _is_address(name))

    def is_allowed(self, origin: str) -> bool:
        return origin.lower() in self._origins


def hosts_of(gateway: GatewaySettings) -> Hosts:
    names = [*LOOPBACK, gateway.address, *gateway.allowed_hosts]
    if not gateway.is_loopback:
        own = socket.gethostname()
        names += [own, f"{own}.local", own.partition(".")[0]]
    return Hosts(names, gateway.allowed_origins, any_address=not gateway.is_loopback)


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if it has another form."""
    found = _HOST.fullmatch(host.strip().lower())
    return (found[1] or found[2]).rstrip(".") if found else ""


def is_same_origin(origin: str, host: str) -> bool:
    """Whether a page of this origin was served under this host. The scheme may differ behind a proxy with TLS."""
    try:
        parts, own = urlsplit(origin), urlsplit(f"//{host}")
        default = {"http": 80, "https": 443}.get(parts.scheme)
        if default is None or not parts.hostname:
            return False
        return parts.hostname == own.hostname and (parts.port or default) in (own.port or default, own.port or 80)
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
