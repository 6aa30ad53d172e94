"""HTTP that stops when a turn is stopped.

A thread that waits for a model sits in `recv`, sometimes for minutes, and closing the response from another thread
does not wake it. Shutting the socket down does. So the network layer under both SDKs is wrapped: while a call waits,
the turn's `Cancel` knows its socket. Nothing polls.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import httpcore2
import httpx2

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import TurnAborted

EventT = TypeVar("EventT")

# The SDKs do all of a call's input and output in the thread that asks for it.
_here = threading.local()


@contextmanager
def interruptible_by(cancel: Cancel) -> Iterator[None]:
    """What this thread reads and writes in the block ends when `cancel` is set; the block then raises its reason."""
    cancel.check()
    before, _here.cancel = getattr(_here, "cancel", None), cancel
    try:
        yield
    except Exception:
        cancel.check()
        raise
    finally:
        _here.cancel = before


def current_cancel() -> Cancel | None:
    """What ends the reads and writes of this thread now, if anything does."""
    return getattr(_here, "cancel", None)


@contextmanager
def reads_within(seconds: float) -> Iterator[None]:
    """All that this thread reads in the block must come within this time; else reading raises a time-out."""
    _here.reads_until = time.monotonic() + seconds
    try:
        yield
    finally:
        _here.reads_until = None


def _sooner(timeout: float | None) -> float | None:
    """This time-out, or what `reads_within` has left."""
    until: float | None = getattr(_here, "reads_until", None)
    if until is None:
        return timeout
    left = max(0.001, until - time.monotonic())  # with 0 a socket does not wait at all, and fails otherwise
    return left if timeout is None else min(timeout, left)


def each(events: Iterator[EventT], cancel: Cancel) -> Iterator[EventT]:
    """The events of a stream, until it ends or `cancel` is set."""
    ended = object()
    while True:
        with interruptible_by(cancel):
            event = next(events, ended)
        # A socket that was shut down reads as the end of the stream.
        cancel.check()
        if event is ended:
            return
        yield event  # type: ignore[misc]


def make_interruptible(transport: httpx2.BaseTransport) -> None:
    """Let the waits of this transport be interrupted."""
    if isinstance(transport, httpx2.HTTPTransport):
        pool: Any = transport._pool
        pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        def connect() -> httpcore2.NetworkStream:
            return self._inner.connect_tcp(host, port, timeout, local_address, socket_options)

        cancel = current_cancel()
        return _Stream(connect() if cancel is None else _aside(connect, cancel))


def _aside(connect: Callable[[], httpcore2.NetworkStream], cancel: Cancel) -> httpcore2.NetworkStream:
    """Connect in a thread that can be left behind: looking up a name cannot be interrupted."""
    future: Future[httpcore2.NetworkStream] = Future()
    threading.Thread(target=_fulfil, args=(future, connect), name="connect", daemon=True).start()
    with cancel.on_set(future.cancel):
        try:
            return future.result()
        except CancelledError:
            raise cancel.reason or TurnAborted("the call was given up") from None


def _fulfil(future: Future[httpcore2.NetworkStream], connect: Callable[[], httpcore2.NetworkStream]) -> None:
    try:
        stream = connect()
    except Exception as error:  # noqa: BLE001 (it is raised again where the result is awaited)
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
        return
    if future.set_running_or_notify_cancel():
        future.set_result(stream)
    else:
        stream.close()


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _shut_on_cancel(self.get_extra_info("socket")):
            return self._inner.read(max_bytes, _sooner(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _shut_on_cancel(self.get_extra_info("socket")):
            self._inner.write(buffer, timeout)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        # The handshake takes the descriptor out of the socket we know, so it is shut down by a copy.
        with self.get_extra_info("socket").dup() as copy, _shut_on_cancel(copy):
            return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@contextmanager
def _shut_on_cancel(sock: socket.socket) -> Iterator[None]:
    cancel = current_cancel()
    if cancel is None:
        yield
        return

    def shut() -> None:
        with suppress(OSError):
            # Not the method of an SSL socket, which would also forget its state under the reader's hands.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    with cancel.on_set(shut):
        yield
