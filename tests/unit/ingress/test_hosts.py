"""Which names and origins are ours."""

from __future__ import annotations

import pytest

from ingress.server.hosts import host_name, hosts_of, is_same_origin
from openclaw_workers.config.gateway import GatewaySettings


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost:80", "localhost"),
        ("[::1]:18789", "::1"),
        ("example.com.", "example.com"),
        ("a@localhost", ""),
        ("localhost/x", ""),
        ("", ""),
        (" ", ""),
        ("[::1", ""),
        ("local host", ""),
    ],
)
def test_a_host_header_is_read_strictly(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    ("origin", "host", "is_same"),
    [
        ("http://localhost:18789", "localhost:18789", True),
        ("https://chat.example.com", "chat.example.com", True),
        ("http://localhost", "localhost:80", True),
        ("https://localhost:443", "localhost", True),
        ("http://localhost:1", "localhost:2", False),
        ("http://localhost", "localhost:18789", False),
        ("http://127.0.0.1:1", "localhost:1", False),
        ("null", "localhost", False),
        ("file://", "localhost", False),
        ("http://[", "localhost", False),
        ("javascript:alert(1)", "localhost", False),
    ],
)
def test_an_origin_is_the_same_if_name_and_port_are(origin: str, host: str, is_same: bool) -> None:
    assert is_same_origin(origin, host) == is_same


def test_bare_addresses_are_served_only_beyond_loopback() -> None:
    closed, open_ = hosts_of(GatewaySettings()), hosts_of(GatewaySettings(bind="lan"))
    assert [closed.is_ours("192.168.0.7"), open_.is_ours("192.168.0.7"), open_.is_ours("evil.example")] == [
        False,
        True,
        False,
    ]


def test_configured_origins_are_allowed_and_no_others() -> None:
    hosts = hosts_of(GatewaySettings.model_validate({"allowedOrigins": ["https://App.example.com/"]}))
    assert hosts.is_allowed("https://app.example.com")
    assert not hosts.is_allowed("http://app.example.com")
    assert not hosts.is_allowed("https://app.example.com:8443")
