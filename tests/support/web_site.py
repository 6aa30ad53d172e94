"""A web site on this machine, and a web client that may visit it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from openclaw_workers.config.web import WebSettings
from openclaw_workers.tools.web.addresses import address_denial
from openclaw_workers.tools.web.client import WebClient
from openclaw_workers.tools.web.connections import Resolve, guarded_transport, system_resolve
from openclaw_workers.tools.web.search_engines import Engine

HERE = "127.0.0.1"


@dataclass(frozen=True)
class Response:
    body: bytes | str = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    """Sends half of the body and nothing more."""


@dataclass(frozen=True)
class Visit:
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Site:
    """A context manager: a server with one response for each path."""

    def __init__(self, **pages: Response) -> None:
        self.pages: dict[str, Response | Callable[[Visit], Response]] = {
            f"/{name}": page for name, page in pages.items()
        }
        self.visits: list[Visit] = []
        self.closing = threading.Event()
        site = self

        class Handler(_Handler):
            owner = site

        self._server = ThreadingHTTPServer((HERE, 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def url(self, path: str = "/", host: str = HERE) -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: Site

    def do_GET(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        visit = Visit(self.path, headers, self.rfile.read(size))
        self.owner.visits.append(visit)
        page = self.owner.pages.get(self.path.partition("?")[0], Response("not here", status=404))
        self._answer(page if isinstance(page, Response) else page(visit))

    do_POST = do_GET  # noqa: N815

    def _answer(self, response: Response) -> None:
        body = response.body if isinstance(response.body, bytes) else response.body.encode()
        self.send_response(response.status)
        headers = {"Content-Type": response.kind, "Content-Length": str(len(body)), **response.headers}
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body[: len(body) // 2] if response.hangs else body)
            self.wfile.flush()
        if response.hangs:
            self.owner.closing.wait(60)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (as in the base class)
        pass


def denial_except_here(address: str) -> str | None:
    """The rule for addresses, with an exception for the site of a test."""
    return None if address == HERE else address_denial(address)


def visitor(*, resolve: Resolve = system_resolve, engine: Engine | None = None, **settings: Any) -> WebClient:
    """A web client that may also visit this machine."""
    transport = guarded_transport(resolve=resolve, denial=denial_except_here)
    return WebClient(WebSettings.model_validate(settings), pages=transport, engine=engine)
