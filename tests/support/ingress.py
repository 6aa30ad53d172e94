"""`ocw ingress` in its own process, and a client of it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.tokens import Tokens
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.waiting import eventually

STARTED = re.compile(r"ingress\.started url=(\S+)")


@dataclass(frozen=True, slots=True)
class Ingress:
    """One process. It ends with the workers of its fleet."""

    process: WorkerProcess
    url: str

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    def raw(self, *parts: bytes, within: float = 20) -> bytes:
        """Send bytes as they are, and read until the other side closes the connection."""
        with socket.create_connection(self.address, timeout=within) as sock:
            for part in parts:
                sock.sendall(part)
            found = b""
            while chunk := _received(sock):
                found += chunk
            return found


def start_ingress(fleet: Fleet, *options: str, **env: str) -> Ingress:
    """Start one on a free port, and wait until it serves."""
    argv = ["--config", str(fleet.config_path), "--state-dir", str(fleet.state_dir), "ingress", "--port", "0", *options]
    log = fleet.directory / f"ingress-{len(fleet.workers) + 1}.log"
    process = WorkerProcess(argv, {**fleet.environment(), **env}, fleet.state_dir, log, respawn=False)
    fleet.workers.append(process)

    def url() -> str | None:
        assert process.is_running(), process.log_text()
        found = STARTED.search(process.log_text())
        return found[1] if found else None

    return Ingress(process, eventually(url, within=60))


def new_token(fleet: Fleet, scope: Scope = Scope.ADMIN, **bound: str) -> str:
    return Tokens(fleet.stores.redis, fleet.stores.keys).create(scope, **bound)[1]


class Api:
    """The API as a program with a token uses it."""

    def __init__(self, url: str, token: str = "", headers: Mapping[str, str] | None = None) -> None:
        given = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.Client(base_url=url, headers={**given, **(headers or {})}, timeout=60, trust_env=False)

    def get(self, path: str, **query: Any) -> Any:
        return self._checked(self.http.get(f"/api/v1{path}", params=query or None))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._checked(self.http.post(f"/api/v1{path}", json=body or {}, headers=headers))

    def send(self, text: str, **more: Any) -> Any:
        return self.post("/send", {"text": text, **more})

    def status(self, method: str, path: str, **more: Any) -> int:
        return int(self.http.request(method, path, **more).status_code)

    def error(self, method: str, path: str, **more: Any) -> tuple[int, str]:
        """Status and code of a request that is refused."""
        answer = self.http.request(method, path, **more)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["error"]["code"]

    def stream(self, method: str, path: str, **more: Any) -> Any:
        """A context manager; its value iterates over events."""
        return _Stream(self.http, method, f"/api/v1{path}", more)

    @staticmethod
    def _checked(answer: httpx2.Response) -> Any:
        assert answer.status_code < 400, answer.text
        return answer.json()


class _Stream:
    def __init__(self, http: httpx2.Client, method: str, path: str, more: dict[str, Any]) -> None:
        headers = {"Accept": "text/event-stream", **more.pop("headers", {})}
        self._request = http.stream(method, path, headers=headers, **more)

    def __enter__(self) -> Iterator[tuple[str, str, Any]]:
        answer = self._request.__enter__()
        assert answer.status_code == 200, answer.read()
        return events_in(answer.iter_lines())

    def __exit__(self, *reason: Any) -> None:
        self._request.__exit__(*reason)


def events_in(lines: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    """Id, type and data of each event of a stream."""
    ident = kind = ""
    data = None
    for line in lines:
        name, _, value = line.partition(": ")
        match name:
            case "id":
                ident = value
            case "event":
                kind = value
            case "data":
                data = json.loads(value)
            case "" if kind:
                yield ident, kind, data
                ident = kind = ""


def in_path(key: str) -> str:
    return quote(key, safe="")


def _received(sock: socket.socket) -> bytes:
    try:
        return sock.recv(65536)
    except ConnectionError:
        return b""
