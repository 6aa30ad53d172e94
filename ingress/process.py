"""The ingress process: the HTTP server, the channels and the senders in one event loop.

When a new version of the configuration is in force, everything but the socket is built again. Requests under way are
finished first; new connections wait meanwhile. Viewers connect again, as after any interruption.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog
import uvicorn

from ingress import adapters, delivery
from ingress.app import build_app
from ingress.context import IngressContext
from ingress.graph import open_context
from ingress.registration import Registration
from ingress.server.protocol import MOST_HEAD_BYTES, GuardedProtocol
from ingress.services import Service, keep_running
from openclaw_workers.config.loader import Loaded
from openclaw_workers.engine.metrics.exporter import exporter_of
from openclaw_workers.errors import ConfigurationError, ConflictError
from openclaw_workers.store.metrics import Metrics

STOP_SECONDS = 5
REFRESH_SECONDS = 20.0
SEND_BUFFER_BYTES = 256 << 10

log = structlog.get_logger(__name__)


class Server(uvicorn.Server):
    """Stops in order on SIGTERM and SIGINT. uvicorn's own would raise the signal again before we have cleaned up."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self.is_ending = False
        """Whether the process must end, and not only read its configuration again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        yield

    def stop(self) -> None:
        self.should_exit = True
        self._on_stop()  # streams would otherwise keep their connections open

    def _end(self, number: int) -> None:
        self.is_ending = True
        self.handle_exit(number, None)
        self._on_stop()


def run(loaded: Loaded, redis_url: str, newest: Callable[[], Loaded]) -> None:
    """Serve until SIGTERM or SIGINT. `newest` reads the configuration in force."""
    gateway = loaded.settings.gateway
    sock = listen(gateway.address, gateway.port)
    following: Loaded | None = loaded
    with sock:
        while following is not None:
            following = asyncio.run(_main(following, redis_url, sock.dup(), newest))


async def _main(loaded: Loaded, redis_url: str, sock: socket.socket, newest: Callable[[], Loaded]) -> Loaded | None:
    context = open_context(loaded, redis_url)
    return await serve(replace(context, adapters=adapters.build_adapters(context)), sock, newest)


async def serve(context: IngressContext, sock: socket.socket, newest: Callable[[], Loaded]) -> Loaded | None:
    """Serve; returns the configuration to go on with, None if the process ends."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    gateway = context.settings.gateway
    config = uvicorn.Config(
        build_app(context),
        http=GuardedProtocol,
        h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=gateway.limits.connections,
        timeout_keep_alive=max(1, int(gateway.limits.idle_seconds)),
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    server = Server(config, context.end_streams)
    reload = Reload(context, newest, server.stop)
    registration = Registration(context, url_of(sock), reload.notice)
    services = [
        Service("events", context.hub.run),
        Service("fleet", context.fleet.run),
        Service("registration", registration.run),
        Service("wake-ups", lambda: _keep_ready(context)),
    ]
    services += [service for part in (adapters, delivery) for service in part.services(context)]
    tasks = [asyncio.create_task(keep_running(service)) for service in services]
    stores = context.stores
    exporter = exporter_of(context.settings.metrics, Metrics(stores.redis, stores.keys), stores.workers)
    if exporter is not None:
        exporter.start()
    # What is here now stays; looking through it again and again would take a tenth of the time of a request.
    gc.collect()
    gc.freeze()
    log.info("ingress.started", url=url_of(sock))
    try:
        await server.serve(sockets=[sock])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await registration.leave()
        if exporter is not None:
            await asyncio.to_thread(exporter.stop)
        context.scripts.close()
        gc.unfreeze()
    following = None if server.is_ending else reload.following
    log.info("ingress.stopped" if following is None else "ingress.reloading")
    return following


class Reload:
    """Notices a new version of the configuration. One that cannot be read is reported, and the old one stays."""

    def __init__(self, context: IngressContext, newest: Callable[[], Loaded], stop: Callable[[], None]) -> None:
        self._context = context
        self._newest = newest
        self._stop = stop
        self.following: Loaded | None = None

    async def notice(self, version: str) -> None:
        try:
            self.following = await self._context.call(self._newest)
        except ConfigurationError as error:
            log.error("config.unreadable", version=version, error=error.message, hint=error.hint)
            return
        log.info("config.used", version=version)
        self._stop()


async def _keep_ready(context: IngressContext) -> None:
    """Read the form of wake-ups before it is needed, so that no request has to wait for it."""
    while True:
        await context.call(context.waker.refresh)
        await asyncio.sleep(REFRESH_SECONDS if context.waker.is_ready else 1.0)


def listen(address: str, port: int) -> socket.socket:
    """Bind the socket, so that a port in use is reported before anything starts.

    Raises:
        ConflictError: it is in use, or may not be used.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        sock = socket.create_server((address, port), family=family, backlog=2048)
    except OSError as error:
        hint = "choose another with gateway.port or --port, or end the process that uses it"
        raise ConflictError(f"cannot listen on {address} port {port}: {error.strerror}", hint=hint) from error
    # Connections inherit both. The kernel would keep megabytes for each viewer that reads slowly. asyncio leaves
    # Nagle's algorithm on for a socket that it was given, and an answer in two pieces would wait 40 ms.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def url_of(sock: socket.socket) -> str:
    """The address for a browser on this machine."""
    address, port = sock.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, f"[{address}]" if ":" in address else address)  # noqa: S104
    return f"http://{shown}:{port}"
