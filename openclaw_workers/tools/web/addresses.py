"""Which network addresses a page may be fetched from: public ones only.

An address that stands for another one (IPv4 inside IPv6, translation, tunnels) is refused as a whole. Whether it is
translated, and to what, depends on the network, and a private address may be behind it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Final

Denial = Callable[[str], str | None]
"""Why an address is refused; None if it may be used."""

_DENIED_V4: Final = [
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
]
_PUBLIC_V6: Final = ipaddress.IPv6Network("2000::/3")
_DENIED_V6: Final = [
    ipaddress.IPv6Network(network)
    # Special purposes (with Teredo), documentation, 6to4.
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)
"""The marks of an IPv4 address in the last half of an IPv6 address."""


def address_denial(address: str) -> str | None:
    """Why this address must not be connected to; None if it is a public one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "it is not an IP address"
    return None if _is_public(parsed) else "it is not a public address"


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _DENIED_V4)
    if address.scope_id is not None or address not in _PUBLIC_V6:
        return False
    return not any(address in network for network in _DENIED_V6) and int(address) >> 32 & 0xFFFF_FFFF not in _ISATAP
