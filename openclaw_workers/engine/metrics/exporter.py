"""Exports metrics of a host at one address, whichever of its processes serves it.

Every process adds what it has counted to sums in Redis, and tries to listen on the port. The first one serves all; when
it ends, another takes over. So one `ocw up`, or all workers of a host, have one address for Prometheus.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from openclaw_workers.config.metrics import MetricsSettings
from openclaw_workers.engine.metrics.families import exposition
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.metrics import give_back, take_counts
from openclaw_workers.store.metrics import Metrics
from openclaw_workers.store.workers import Workers

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 1.0
PATH = "/metrics"


class MetricsExporter(threading.Thread):
    def __init__(self, store: Metrics, workers: Workers, *, host: str, address: str, port: int) -> None:
        super().__init__(name="ocw-metrics", daemon=True)
        self._store = store
        self._workers = workers
        self._host = host
        self._address = address
        self._port = port
        self._over = threading.Event()
        self._server: ThreadingHTTPServer | None = None

    def run(self) -> None:
        while not self._over.is_set():
            self.step()
            self._over.wait(PERIOD_SECONDS)
        self.step()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def stop(self) -> None:
        """Store the last counts, and leave the address to another process."""
        self._over.set()
        if self.is_alive():
            self.join(2 * PERIOD_SECONDS)

    def step(self) -> None:
        """Store what was counted, and take the address if nobody has it."""
        counts = take_counts()
        try:
            if counts:
                self._store.add(self._host, counts)
        except StoreUnavailable as error:
            # Added to the next step, so that nothing is lost while Redis is away.
            give_back(counts)
            log.debug("metrics.postponed", error=error.message)
        if self._server is None and not self._over.is_set():
            self._listen()

    def _listen(self) -> None:
        try:
            self._server = _Server((self._address, self._port), self._answer)
        except OSError:
            return  # another process of this host serves
        threading.Thread(target=self._server.serve_forever, name="ocw-metrics-http", daemon=True).start()
        log.info("metrics.serving", url=f"http://{self._address}:{self._port}{PATH}")

    def _answer(self) -> bytes:
        return exposition(self._store, self._workers, self._host)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True  # after a restart, not beside another server

    def __init__(self, address: tuple[str, int], answer: Callable[[], bytes]) -> None:
        self.answer = answer
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    # A client that connects and sends nothing must not keep a thread.
    timeout = 10

    def do_GET(self) -> None:  # its name is fixed by the library
        if self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        assert isinstance(self.server, _Server)
        try:
            body = self.server.answer()
        except StoreUnavailable as error:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=error.message)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE_LATEST)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Scrapes are not logged."""


def exporter_of(settings: MetricsSettings, store: Metrics, workers: Workers) -> MetricsExporter | None:
    """What exports the metrics of this process; None if no port is set."""
    if settings.port is None:
        return None
    return MetricsExporter(store, workers, host=socket.gethostname(), address=settings.address, port=settings.port)
