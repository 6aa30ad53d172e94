"""Addresses and URLs that web_fetch refuses: everything that may lead to this machine or its network."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.web.addresses import address_denial
from openclaw_workers.tools.web.urls import checked_url

PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
PRIVATE = [
    # IPv4: this host, private, shared, link-local with metadata services, special, multicast, reserved
    *("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "192.0.0.8", "192.0.0.192", "192.0.2.1"),
    *("192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1"),
    "255.255.255.255",
    # IPv6: unspecified, this host, unique local, link-local, site-local, multicast, documentation, discard
    *("::", "::1", "fc00::1", "fd12:3456::1", "fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1", "ff02::1"),
    *("2001:db8::1", "100::1", "3fff::1", "2001:2::1", "2001:10::1"),
    # IPv4 inside IPv6: mapped, compatible, translated, NAT64 (both prefixes), 6to4, Teredo, ISATAP
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1"),
    *("64:ff9b::127.0.0.1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:808:808::1"),
    *("2001:0:4136:e378:8000:63bf:80ff:fffe", "2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:127.0.0.1"),
    # not an address at all
    *("", "localhost", "127.1", "0x7f000001", "127.0.0.1.", "[::1]", "1.2.3", "256.1.1.1", "::g"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_used(address: str) -> None:
    assert address_denial(address) is None


@pytest.mark.parametrize("address", PRIVATE)
def test_all_others_are_refused(address: str) -> None:
    assert address_denial(address)


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_passes_in_the_form_of_another(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    forms = [
        f"::ffff:{address}",
        f"::{address}",
        f"64:ff9b::{address}",
        f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1",
        f"2600:1f00::5efe:{address}",
    ]
    assert all(address_denial(form) for form in forms)


URLS = [
    # what is no web page
    *("file:///etc/passwd", "ftp://example.com/x", "gopher://example.com", "data:text/plain,x", "javascript:1"),
    *("//example.com", "example.com", "http://", "http:///etc", "https://?", "not a url", "http://exa mple.com"),
    # credentials, and hosts that only look like others
    *("http://user:secret@example.com", "http://example.com@127.0.0.1/", "http://127.0.0.1\\@example.com/"),
    # names of this machine and its network
    *("http://localhost", "http://LOCALHOST.", "http://a.localhost:8080", "http://printer.local"),
    *("http://metadata.google.internal/computeMetadata/v1/", "http://redis", "http://db:5432", "http://router.lan"),
    *("http://x.home.arpa", "http://wiki.corp", "http://intranet"),
    # numbers that a resolver takes for addresses: decimal, octal, hexadecimal, with missing parts
    *("http://2130706433", "http://0x7f000001", "http://017700000001", "http://0177.0.0.1", "http://0x7f.0.0.1"),
    *("http://127.1", "http://127.0.1", "http://0", "http://0x7f.1", "http://134744072", "http://010.0.0.1"),
    *("http://127.0.0.01", "http://00000177.0.0.1", "http://1.2.3.4.5", "http://256.1.1.1", "http://0x"),
    # full-width and circled digits, an escaped host, a zone, a broken address
    *("http://１２７.0.0.1", "http://①②⑦.0.0.1", "http://%31%32%37.0.0.1"),
    *("http://[fe80::1%25eth0]/", "http://[::1", "http://[1.2.3.4]/", "http://[v1.x]/"),
    # ports
    *("http://example.com:99999", "http://example.com:-1", "http://example.com:x"),
    f"http://example.com/{'x' * 5000}",
]


@pytest.mark.parametrize("url", URLS)
def test_urls_that_are_refused_before_anything_is_looked_up(url: str) -> None:
    with pytest.raises(ToolError):
        checked_url(url)


@pytest.mark.parametrize(
    "url",
    ["https://example.com", "http://example.com:8080/a?b=c#d", "http://8.8.8.8/", "http://[2606:4700::1111]/x"]
    + ["https://日本.example/", "http://a_b.example.com.", " https://example.com "],
)
def test_urls_of_public_sites_pass(url: str) -> None:
    assert "#" not in str(checked_url(url))


def test_a_refusal_does_not_repeat_a_password() -> None:
    with pytest.raises(ToolError) as refused:
        checked_url("https://user:hunter2@example.com/")
    assert "hunter2" not in str(refused.value)
