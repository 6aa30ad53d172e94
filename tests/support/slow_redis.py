"""A proxy to Redis that delays answers, but stays below a client's timeout, or changes its target."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.support.redis_server import RedisServer


class SlowProxy:
    """Forwards connections to a Redis server and delays its answers."""

    def __init__(self, server: RedisServer, *, seconds: float = 0.0) -> None:
        self._port = server.port
        self._seconds = seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._silenced = 0
        """So many connections, the oldest, pass nothing on."""
        self._accepted = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def lead_to(self, server: RedisServer) -> None:
        """Send new connections to this server; open connections keep their target."""
        self._port = server.port

    def silence(self) -> None:
        """Pass nothing on between those who are connected now, and close nothing, like a server that froze."""
        self._silenced = self._accepted

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, name="slow-proxy", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, server]
                self._accepted += 1
                number = self._accepted
                for args in ((number, client, server, 0.0), (number, server, client, self._seconds)):
                    threading.Thread(target=self._pass_on, args=args, daemon=True).start()

    def _pass_on(self, number: int, source: socket.socket, target: socket.socket, delay_seconds: float) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(delay_seconds)
                if number > self._silenced:
                    target.sendall(data)
