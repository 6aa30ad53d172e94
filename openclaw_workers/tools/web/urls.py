"""Check a URL before anything is looked up: its scheme, its host name, and what else must not be in it."""

from __future__ import annotations

import ipaddress
import re

import httpx2

from openclaw_workers.errors import ToolError

MAX_URL_CHARS = 4_000
_PRIVATE_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "localdomain", "home.arpa")
# What the system's resolver may take for an IPv4 address: decimal, octal or hexadecimal, in one to four parts.
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+", re.IGNORECASE)


def checked_url(text: str) -> httpx2.URL:
    """Read a URL and refuse what can only lead to this machine or its network.

    What a name leads to is checked again when the connection is made.

    Raises:
        ToolError: it is no URL of a public web page.
    """
    if len(text) > MAX_URL_CHARS:
        raise ToolError(f"the URL has {len(text):,} characters; at most {MAX_URL_CHARS:,} are allowed")
    try:
        url = httpx2.URL(text.strip())
        # `localhost.` is the same host as `localhost`.
        host = url.raw_host.decode("ascii").lower().removesuffix(".")
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise ToolError(f"{_shown(text)} is not a URL: {error}") from error
    if url.scheme not in ("http", "https"):
        raise ToolError(f"{_shown(text)} is not a web address; expected one that begins with http:// or https://")
    if url.userinfo:
        raise ToolError(f"{_shown(url.host)}: a URL with a user name or password is not fetched")
    if not 0 < (url.port or 80) < 65_536:
        raise ToolError(f"{_shown(text)} has no valid port")
    if why := _host_denial(host):
        raise ToolError(f"{_shown(text)} is not fetched: {why}")
    return url.copy_with(fragment=None)


def _host_denial(host: str) -> str | None:
    if ":" in host:
        return None if _is_address(host) and "%" not in host else "its host is not a valid address"
    if _NUMERIC.fullmatch(host):
        return None if _is_address(host) else "its host is a number that is not a plain IP address"
    if any(host == name or host.endswith(f".{name}") for name in _PRIVATE_NAMES):
        return "its host is a private name"
    # A name without a dot is looked up in the local network's own domains.
    return None if _NAME.fullmatch(host) else "its host is not the name of a public site"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    return repr(text[:200])
