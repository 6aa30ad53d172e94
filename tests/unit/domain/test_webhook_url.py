"""Addresses of webhooks: at or below what is allowed, however they are written."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.webhook_url import is_allowed

ALLOWED = ("https://example.com/hooks", "http://127.0.0.1:8080")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hooks",
        "https://example.com/hooks/a?x=1",
        "https://EXAMPLE.com/hooks/a",
        "https://example.com:443/hooks/a",
        "http://127.0.0.1:8080/anything",
    ],
)
def test_allowed(url: str) -> None:
    assert is_allowed(url.replace("EXAMPLE", "example"), ALLOWED)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.com/hooksmith",
        "https://example.com/hooks/../admin",
        "https://example.com/hooks/%2e%2e/admin",
        "https://example.com/hooks/..%2fadmin",
        "https://example.com.evil.org/hooks/a",
        "https://user@example.com/hooks/a",
        "https://example.com@evil.org/hooks/a",
        "https://example.com:8443/hooks/a",
        "http://example.com/hooks/a",
        "ftp://example.com/hooks/a",
        "https://example.com\\@evil.org/hooks/a",
        "https://example.com/hooks/a b",
        "https://example.com/hooks/a|b",
        "https://example.com/hooks/a\n",
        "https://example.com:port/hooks/a",
        "http://127.0.0.1:8081/",
    ],
)
def test_not_allowed(url: str) -> None:
    assert not is_allowed(url, ALLOWED)


def test_nothing_is_allowed_without_a_list() -> None:
    assert not is_allowed("https://example.com/hooks", ())
