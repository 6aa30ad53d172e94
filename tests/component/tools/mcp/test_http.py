"""A server behind an address: streamable HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.component.tools.mcp.conftest import SDK_SERVER, MakeServers
from tests.support.mcp_stub import answer
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def sdk_server(port: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, SDK_SERVER, str(port)], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


class _Plain(BaseHTTPRequestHandler):
    """Answers with one JSON object for each request."""

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = answer(message)
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **reply}).encode() if reply else b""
        self.send_response(200 if reply else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def plain_server(port: int = 0) -> Iterator[str]:
    """A server of an older protocol that answers in plain JSON."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Plain)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_is_used_restarted_and_used_again(make_servers: MakeServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openclaw_workers.tools.mcp.connection.LAST_RETRY_SECONDS", 0.5)
    # Given a server that is not there yet
    port = free_port()
    address = {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": "Bearer planted"}}
    servers = make_servers(web={**address, "timeoutSeconds": 60})
    assert servers.names == []
    assert "planted" not in json.dumps(servers.all.report())

    # When it is there, its tools are too
    with sdk_server(port):
        eventually(lambda: "web__add" in servers.names, within=60)
        assert servers.call("web__add", a=2, b=3).output == "5"
        assert servers.call("web__secret_of").output == "Bearer planted"
        assert servers.call("web__change").output == "changed"
        eventually(lambda: "web__added" in servers.names, within=60)

    # When it is gone, a call says so; when another is there instead, its tools are used
    assert servers.call("web__add", a=1).failed
    with plain_server(port):
        eventually(lambda: servers.call("web__echo", text="another").output == "another", within=60)


def test_an_older_server_works_and_may_not_send_too_much(make_servers: MakeServers) -> None:
    with plain_server() as url:
        servers = make_servers(old={"url": url, "maxMessage": 100_000, "timeoutSeconds": 20})

        assert servers.call("old__echo", text="hello").output == "hello"
        assert servers.call("old__huge").failed
        eventually(lambda: servers.report()["restarts"] >= 1, within=60)
        assert servers.call("old__echo", text="again").output == "again"
