"""A stand-in for an OpenAI-compatible embedding endpoint: a vector of hashed words, and a count of calls."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 32


class EmbeddingServer:
    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.models: set[str] = set()
        self.keys: list[str] = []
        """The key of each call, also of those that failed."""
        self.failures: list[int] = []
        """Statuses of the next answers."""


def vector(text: str) -> list[float]:
    found = [0.0] * DIMENSIONS
    for word in text.lower().split():
        found[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return found


@contextmanager
def embedding_server() -> Iterator[tuple[str, EmbeddingServer]]:
    state = EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.keys.append(self.headers["Authorization"].removeprefix("Bearer "))
            if state.failures:
                self._send(state.failures.pop(0), {"error": {"message": "not now"}})
                return
            state.batches.append(asked["input"])
            state.models.add(asked["model"])
            data = [
                {"object": "embedding", "index": at, "embedding": vector(text)}
                for at, text in enumerate(asked["input"])
            ]
            usage = {"prompt_tokens": 10 * len(data), "total_tokens": 10 * len(data)}
            self._send(200, {"object": "list", "data": data, "model": asked["model"], "usage": usage})

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
