"""The HTTP server: records every request, refuses wrong ones as the real APIs do, and follows its script."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.wire import anthropic_wire, chat_wire, responses_wire
from tests.support.wire.behaviour import Behaviour, Failure, Hang, Raw, Reply
from tests.support.wire.embeddings_wire import embeddings

_APIS = {
    "/v1/messages": anthropic_wire,
    "/v1/chat/completions": chat_wire,
    "/v1/responses": responses_wire,
}
_OVERFLOW = "prompt is too long: this request exceeds the context window; maximum context length is {} tokens"


@dataclass(frozen=True)
class Recorded:
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]
    problems: list[str]
    """Why the real API would have refused it."""
    connection: tuple[str, int]
    """The client's address: the same for requests on one connection."""
    at: float = field(default_factory=time.monotonic)


class WireServer:
    """A context manager. Each request uses the next behaviour of `script`; after the last, `answer` decides."""

    def __init__(
        self,
        *behaviours: Behaviour,
        answer: Callable[[Recorded], Behaviour] | None = None,
        window: int | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.script: deque[Behaviour] = deque(behaviours)
        self.answer = answer or (lambda _: Reply("ok"))
        self.window = window
        """The most tokens (four bytes each) of a request; None for no limit."""
        self.requests: list[Recorded] = []
        self.went_away: list[float] = []
        """When clients closed a connection that was waiting for an answer."""
        self.is_silent = threading.Event()
        """Set when the server keeps a client waiting."""
        self.closing = threading.Event()
        self.lock = threading.Lock()
        server = self

        class Handler(_Handler):
            wire = server

        self._address = address
        self._http = _Http((address, 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """For Anthropic; OpenAI's addresses end in /v1."""
        return f"http://{self._address}:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def decide(self, request: Recorded) -> Behaviour:
        with self.lock:
            self.requests.append(request)
            if request.problems:
                return Failure(400, "; ".join(request.problems))
            if self.window is not None and len(json.dumps(request.body)) // 4 > self.window:
                return Failure(400, _OVERFLOW.format(self.window))
            return self.script.popleft() if self.script else self.answer(request)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Many tests disconnect on purpose, so that is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """As on real servers: otherwise each answer on a reused connection waits 40 ms for an acknowledgement."""
    wire: WireServer

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        path = self.path.split("?")[0]
        api = _APIS.get(path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        found = list(api.problems(body)) if api else []
        request = Recorded(path, headers, body, found, self.client_address)
        if api is None and path != "/v1/embeddings":
            return self._json(404, {"error": {"message": f"no such path {path}", "type": "not_found_error"}})
        behaviour = self.wire.decide(request)
        match behaviour:
            case Hang():
                return self._wait_for_end()
            case Failure():
                return self._fail(behaviour, api or chat_wire)
            case Raw():
                return self._stream(Reply(), iter(behaviour.events), api)
        if api is None:
            return self._json(200, embeddings(body))
        return self._stream(behaviour, api.events(behaviour, body), api)

    def _stream(self, reply: Reply, events: Iterator[tuple[str | None, Any]], api: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            if reply.delay_seconds and self.wire.closing.wait(reply.delay_seconds):
                return
            for index, event in enumerate(events):
                if reply.after is not None and index >= reply.after:
                    self._interrupt(reply, api)
                    return
                if reply.gap_seconds and self.wire.closing.wait(reply.gap_seconds):
                    return
                self._event(*event)
            self._interrupt(reply, api)
        except OSError:
            self.wire.went_away.append(time.monotonic())
            self.close_connection = True

    def _interrupt(self, reply: Reply, api: Any) -> None:
        match reply.then:
            case "hang":
                self._wait_for_end()
            case "reset":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case "error":
                self._event(*api.error_event(dict(reply.error)))
                self.wfile.write(b"0\r\n\r\n")
            case "end":
                self.wfile.write(b"0\r\n\r\n")

    def _event(self, name: str | None, data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        line = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
        encoded = line.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded))
        self.wfile.flush()

    def _wait_for_end(self) -> None:
        self.close_connection = True
        self.wire.is_silent.set()
        poller = select.poll()  # select supports no descriptor above 1023, and a long test run has more
        poller.register(self.connection, select.POLLIN)
        while not self.wire.closing.is_set():
            if poller.poll(20) and not self.connection.recv(4096):
                self.wire.went_away.append(time.monotonic())
                return

    def _fail(self, failure: Failure, api: Any) -> None:
        body = failure.body if failure.body is not None else json.dumps(api.error_body(failure))
        ids = {"request-id": "req_wire", "x-request-id": "req_wire"}
        self._send(failure.status, body.encode(), {**ids, **failure.headers})

    def _json(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode(), {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
