"""Hostile and broken requests get clean errors, and the ingress goes on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.tokens import Scope
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, in_path, new_token, start_ingress
from tests.support.waiting import eventually

BODY_LIMIT = 65_536


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fleet, Ingress, Api]]:
    """Limits small enough to be reached in a test."""
    limits = {"body": BODY_LIMIT, "idleSeconds": 2.0, "connections": 40}
    gateway = {"limits": limits, "allowedHosts": ["chat.example.com"], "allowedOrigins": ["https://app.example.com"]}
    with Fleet(tmp_path_factory.mktemp("fleet"), {"gateway": gateway}) as fleet:
        ingress = start_ingress(fleet)
        yield fleet, ingress, Api(ingress.url, new_token(fleet, Scope.ADMIN))


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def head(path: str = "/healthz", *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, ingress, api = tight
    large = {"text": "x" * BODY_LIMIT}
    assert api.error("POST", "/api/v1/send", json=large) == (413, "too_large")

    def pieces() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(100):
            yield b"x" * 4096
        yield b'"}'

    headers = {"Content-Type": "application/json"}
    assert api.http.post("/api/v1/send", content=pieces(), headers=headers).status_code == 413
    huge = ingress.raw(head("/api/v1/send", "Content-Length: 99999999999999999999", method="POST"))
    assert status_of(huge) == 413


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"\xff\xfe\x00", 400),
        (b'{"text": "\xff\xfe"}', 400),
        (b'{"text": "\\ud800"}', 400),
        (b"{", 400),
        (b"[" * 30_000, 400),
        (b'{"text": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", 400),
        (b"null", 422),
        (b'"text"', 422),
        (b'{"text": NaN}', 400),
        (b'{"text": "x", "timeoutSeconds": 1e999}', 422),
        (b'{"text": "x", "contextTokens": 99999999999999999999999999}', 422),
        (b'{"text": null}', 422),
    ],
)
def test_a_broken_body_is_refused(tight: tuple[Fleet, Ingress, Api], content: bytes, status: int) -> None:
    answer = tight[2].http.post("/api/v1/send", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (status, 422)
    assert answer.json()["error"]["message"]


def test_a_body_of_another_type_is_refused(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, _, api = tight
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = api.http.post("/api/v1/send", content=b'{"text": "x"}', headers={"Content-Type": kind})
        assert answer.status_code == 415


@pytest.mark.parametrize(
    "lines",
    [
        [f"X-{number}: {'y' * 100}" for number in range(2000)],
        ["X-Long: " + "y" * 100_000],
        ["X" * 50_000 + ": y"],
        ["No colon here"],
        ["Bad Name: x"],
        ["X-Control: a\x00b"],
        ["Content-Length: -5"],
        ["Content-Length: 5", "Content-Length: 6"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ],
)
def test_a_flood_of_headers_or_a_broken_one_is_refused(tight: tuple[Fleet, Ingress, Api], lines: list[str]) -> None:
    _, ingress, api = tight
    answer = ingress.raw(head("/healthz", *lines))
    assert status_of(answer) in (0, 400, 431, 501)
    assert api.status("GET", "/healthz") == 200


@pytest.mark.parametrize(
    "request_line",
    [
        "GET /healthz HTTP/9.9",
        "GET  /healthz",
        "G\x00T /healthz HTTP/1.1",
        "GET http://[::1 HTTP/1.1",
        "GET /" + "a" * 100_000 + " HTTP/1.1",
        "\x16\x03\x01\x02\x00\x01",
        "",
    ],
)
def test_what_is_no_request_is_refused(tight: tuple[Fleet, Ingress, Api], request_line: str) -> None:
    _, ingress, api = tight
    ingress.raw(f"{request_line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1"))
    assert api.status("GET", "/healthz") == 200


def test_a_client_that_sends_its_head_slowly_is_cut_off(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, ingress, api = tight
    with socket.create_connection(ingress.address) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert _closed_within(sock, 30)
    with socket.create_connection(ingress.address) as silent:
        assert _closed_within(silent, 30)
    with socket.create_connection(ingress.address) as second:
        second.sendall(head())
        assert status_of(second.recv(65536)) == 200
        second.sendall(b"GET /heal")
        assert _closed_within(second, 30), "also between two requests"
    assert api.status("GET", "/healthz") == 200


def test_a_client_that_sends_its_body_slowly_is_cut_off(tight: tuple[Fleet, Ingress, Api]) -> None:
    fleet, ingress, _ = tight
    token = new_token(fleet, Scope.CHAT)
    lines = ["Content-Type: application/json", "Content-Length: 5000", f"Authorization: Bearer {token}"]
    with socket.create_connection(ingress.address) as sock:
        sock.sendall(head("/api/v1/send", *lines, method="POST"))
        sock.settimeout(10)
        began = time.monotonic()
        answer = b""
        while not answer and time.monotonic() - began < 30:
            sock.sendall(b"x")
            sock.settimeout(0.2)
            try:
                answer = sock.recv(65536)
            except TimeoutError:
                continue
        assert status_of(answer) == 408


def test_a_client_that_reads_nothing_is_cut_off(tight: tuple[Fleet, Ingress, Api]) -> None:
    """Its answers fill the buffers of both sides; after two seconds without reading the connection is closed."""
    _, ingress, api = tight
    with socket.create_connection(ingress.address) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(20)
        sock.sendall(head("/api/v1/openapi.json") * 100)
        eventually(lambda: _is_cut_off(sock), within=40)
    assert api.status("GET", "/healthz") == 200


def test_too_many_connections_are_turned_away_and_then_served_again(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, ingress, _ = tight
    held = [socket.create_connection(ingress.address) for _ in range(60)]
    try:
        late = Api(ingress.url)
        assert late.status("GET", "/healthz") == 503
    finally:
        for sock in held:
            sock.close()
    eventually(lambda: Api(ingress.url).status("GET", "/healthz") == 200, within=10)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:18789", 200),
        ("[::1]:18789", 200),
        ("chat.example.com", 200),
        ("chat.example.com.", 200),
        ("evil.example", 403),
        ("chat.example.com.evil.example", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("evil.example@localhost", 403),
        ("localhost:99999999", 403),
        ("", 403),
    ],
)
def test_only_our_own_host_names_are_served(tight: tuple[Fleet, Ingress, Api], host: str, status: int) -> None:
    _, ingress, _ = tight
    answer = ingress.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert status_of(answer) in (status, 400 if status == 403 else status)


def test_two_host_headers_are_refused(tight: tuple[Fleet, Ingress, Api]) -> None:
    answer = tight[1].raw(head("/healthz", "Host: evil.example", "Connection: close"))
    assert status_of(answer) in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://app.example.com.evil"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_foreign_origin_is_refused(tight: tuple[Fleet, Ingress, Api], origin: str, method: str) -> None:
    _, _, api = tight
    for path in ("/healthz", "/api/v1/sessions", "/auth/login", "/nowhere"):
        answer = api.http.request(method, path, headers={"Origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_an_allowed_origin_may_call_with_a_token_but_not_with_a_cookie(tight: tuple[Fleet, Ingress, Api]) -> None:
    fleet, ingress, api = tight
    headers = {"Origin": "https://app.example.com"}
    ask = {**headers, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = api.http.options("/api/v1/send", headers=ask)
    answer = api.http.get("/api/v1/me", headers=headers)

    assert preflight.status_code == 204
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    for each in (preflight, answer):
        assert each.headers["access-control-allow-origin"] == headers["Origin"]
        assert "access-control-allow-credentials" not in each.headers
        assert each.headers["vary"] == "Origin"
    page = Api(ingress.url, headers={"Origin": ingress.url})
    page.http.post("/auth/login", json={"token": new_token(fleet, Scope.ADMIN)})
    assert page.status("GET", "/api/v1/me") == 200
    assert page.status("GET", "/api/v1/me", headers=headers) == 401


@pytest.mark.parametrize("path", ["/api/v1/me", "/healthz", "/nowhere", "/api/v1/docs", "/api/v1/openapi.json"])
def test_every_answer_has_security_headers(tight: tuple[Fleet, Ingress, Api], path: str) -> None:
    headers = tight[2].http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers


FORGED = [
    "agent:main:main:subagent:x",
    "agent:main:dm",
    "agent::main",
    "agent:main:" + "x" * 2000,
    "agent:../../etc:main",
    "agent:main:main\r\nSet-Cookie: a=b",
    "agent:main:\x00",
    "../../../etc/passwd",
    "<script>alert(1)</script>",
    "agent:main:main' OR 1=1",
    "*",
    "agent:*:*",
    "ocw:s:agent:main:main:row",
]


@pytest.mark.parametrize("key", FORGED)
def test_a_forged_session_key_finds_nothing(tight: tuple[Fleet, Ingress, Api], key: str) -> None:
    _, _, api = tight
    before = {each["sessionKey"] for each in api.get("/sessions")["sessions"]}
    for path in ("", "/history", "/queue", "/events"):
        answer = api.http.get(f"/api/v1/sessions/{in_path(key)}{path}")
        assert answer.status_code in (400, 404), path
        assert answer.headers["content-type"] == "application/json"
        assert "set-cookie" not in answer.headers
    for path in (f"/api/v1/runs/{in_path(key)}", f"/api/v1/subagents/{in_path(key)}", f"/api/v1/tree/{in_path(key)}"):
        assert api.status("GET", path) in (400, 404)
    assert {each["sessionKey"] for each in api.get("/sessions")["sessions"]} == before


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/v1/../../etc/passwd",
        "//etc/passwd",
        "/.env",
        "/api/v1//",
    ],
)
def test_no_path_leads_to_a_file(tight: tuple[Fleet, Ingress, Api], path: str) -> None:
    answer = tight[1].raw(head(path, "Connection: close"))
    assert status_of(answer) in (401, 404)
    assert b"root:" not in answer


def test_text_with_markup_comes_back_as_text(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, _, api = tight
    text = '<img src=x onerror=alert(1)>"\u2028</script>\x07'
    sent = api.send(text, sessionKey="markup")
    answer = api.http.get("/api/v1/sessions/markup/queue")
    missing = api.http.get("/api/v1/<script>")

    assert answer.headers["content-type"] == "application/json"
    assert [each["text"] for each in answer.json()["waiting"]] == [text.strip()]
    assert missing.headers["content-type"] == "application/json"
    assert sent["accepted"]
    assert "<script>" not in api.http.get("/api/v1/docs").text


def test_another_method_is_refused_with_the_ones_there_are(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, _, api = tight
    answer = api.http.put("/api/v1/sessions/main")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PATCH", "DELETE"}
    assert api.error("TRACE", "/api/v1/send") == (405, "method_not_allowed")


def test_many_bad_clients_at_once_leave_the_good_ones_alone(tight: tuple[Fleet, Ingress, Api]) -> None:
    _, ingress, api = tight

    def misbehave(number: int) -> Any:
        junk = [b"\x00" * 100, head("/api/v1/send", "Content-Length: 9", method="POST") + b"{", b"GET / HTTP/1.1\r\n"]
        return ingress.raw(junk[number % 3])

    with ThreadPoolExecutor(10) as pool:
        bad = [pool.submit(misbehave, number) for number in range(20)]
        good = [api.send(json.dumps({"steps": [{"text": str(number)}]}), sessionKey="good") for number in range(10)]
        assert all(each["accepted"] for each in good)
        for each in bad:
            each.result()


def _is_cut_off(sock: socket.socket) -> bool:
    try:
        sock.sendall(b" ")
    except OSError:
        return True
    return False


def _closed_within(sock: socket.socket, seconds: float) -> bool:
    sock.settimeout(seconds)
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True


def test_a_port_in_use_is_named(fleet: Fleet, ingress: Ingress, tmp_path: Path) -> None:
    from tests.support.ocw import Ocw  # noqa: PLC0415

    done = Ocw(fleet)("ingress", "--port", str(ingress.address[1]), "--json")
    assert done.code == 6
    assert str(ingress.address[1]) in done.out
