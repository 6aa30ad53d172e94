"""The settings of the HTTP interface."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from openclaw_workers.config.gateway import GatewaySettings


@pytest.mark.parametrize(
    ("bind", "address", "is_loopback"),
    [
        ("loopback", "127.0.0.1", True),
        ("localhost", "localhost", True),
        ("127.0.0.5", "127.0.0.5", True),
        ("::1", "::1", True),
        ("lan", "0.0.0.0", False),
        ("10.0.0.7", "10.0.0.7", False),
        ("example.com", "example.com", False),
    ],
)
def test_an_address_for_each_way_to_bind(bind: str, address: str, is_loopback: bool) -> None:
    settings = GatewaySettings(bind=bind)
    assert (settings.address, settings.is_loopback) == (address, is_loopback)


@pytest.mark.parametrize(
    "wrong",
    [
        {"auth": "none", "bind": "lan"},
        {"auth": "none", "bind": "10.0.0.7"},
        {"auth": "password"},
        {"bind": "a b"},
        {"port": 70_000},
        {"allowedOrigins": ["example.com"]},
        {"allowedOrigins": ["https://example.com/path"]},
        {"allowedOrigins": ["*"]},
        {"allowedHosts": ["http://example.com"]},
        {"limits": {"body": "2gb"}},
        {"limits": {"requestsPerMinute": 0}},
        {"limits": {"idleSeconds": 0.0}},
    ],
)
def test_what_would_be_unsafe_or_meaningless_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GatewaySettings.model_validate(wrong)
