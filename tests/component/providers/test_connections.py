"""Connections: kept, never mixed up between keys, and closed at once when a turn is stopped."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api
from openclaw_workers.errors import TurnAborted
from openclaw_workers.interruptible_http import interruptible_by
from openclaw_workers.providers.http.connection_reuse import REST_BYTES, ReusingTransport
from tests.component.providers.wire_conversation import APIS, Wire
from tests.support.waiting import eventually
from tests.support.wire import Hang, Reply, WireServer
from tests.unit.providers.offline_conversation import text_of

# Half a second is promised. A busy machine gets more; if nothing interrupted the wait, it would be ten at least.
AT_ONCE = 2.0


@pytest.fixture(params=APIS)
def line(request: pytest.FixtureRequest, server: WireServer) -> Wire:
    api: Api = request.param
    line = Wire(server, api)
    line.ask()  # Loads the SDK, which is not part of any time measured below.
    server.requests.clear()
    return line


@contextmanager
def stopped_while(is_waiting: Callable[[], object], cancel: Cancel) -> Iterator[None]:
    """Stop the turn from another thread once it waits, and see the block raise for it at once."""
    when: list[float] = []

    def stop() -> None:
        eventually(is_waiting, within=20, every=0.005)
        when.append(time.monotonic())
        cancel.set(TurnAborted("stopped"))

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(TurnAborted):
        yield
    thread.join()
    assert time.monotonic() - when[0] < AT_ONCE


def waits_in(function: str, file: str) -> Callable[[], bool]:
    """Whether the calling thread is, when asked later, inside that function."""
    here = threading.get_ident()

    def look() -> bool:
        frame = sys._current_frames().get(here)
        while frame is not None:
            if frame.f_code.co_name == function and frame.f_code.co_filename.endswith(file):
                return True
            frame = frame.f_back
        return False

    return look


@pytest.mark.parametrize("behaviour", [Hang(), Reply("a long answer", after=4, then="hang")])
def test_a_stop_closes_the_connection_at_once(line: Wire, behaviour: Hang | Reply) -> None:
    line.server.script.append(behaviour)
    cancel = Cancel()
    reads = waits_in("read", "httpcore2/_backends/sync.py")
    with stopped_while(lambda: line.server.is_silent.wait(5) and reads(), cancel):
        line.ask(cancel=cancel)
    assert eventually(lambda: line.server.went_away, within=AT_ONCE)


def test_a_stop_in_the_middle_of_a_drip_is_noticed(line: Wire) -> None:
    line.server.script.append(Reply("a long answer", gap_seconds=0.2))
    cancel = Cancel()
    with stopped_while(lambda: line.server.requests, cancel):
        line.ask(cancel=cancel)


def test_a_stop_while_connecting_does_not_wait_for_the_connection(line: Wire) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, ThreadPoolExecutor(4) as pool:
        address = deaf.getsockname()
        # Nobody accepts; once the queue is full, the kernel lets further connections wait.
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            pool.submit(filler.connect_ex, address).result()
        endpoint = replace(line.endpoint, base_url=f"http://127.0.0.1:{address[1]}/v1")
        cancel = Cancel()
        with stopped_while(waits_in("connect_tcp", "interruptible_http.py"), cancel):
            line.ask(cancel=cancel, endpoint=endpoint)
        for filler in fillers:
            filler.close()


def test_a_stop_in_the_middle_of_a_handshake_is_noticed(line: Wire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = replace(line.endpoint, base_url=f"https://127.0.0.1:{silent.getsockname()[1]}/v1")
        cancel, ready = Cancel(), threading.Event()

        def accept() -> None:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)  # The client has said hello and waits for an answer.
                ready.set()
                while connection.recv(4096):
                    pass

        thread = threading.Thread(target=accept)
        thread.start()
        with stopped_while(ready.is_set, cancel):
            line.ask(cancel=cancel, endpoint=endpoint)
        thread.join(5)
        assert not thread.is_alive(), "the connection was left open"


def test_keys_are_never_mixed_up(line: Wire) -> None:
    def ask(number: int) -> None:
        key = f"key-number-{number % 4}"
        line.ask(f"I am {key}", endpoint=line.with_key(key))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(32)))
    assert len(line.server.requests) == 32
    for request in line.server.requests:
        said = str(request.body)
        key = request.headers["authorization"].removeprefix("Bearer ")
        assert f"I am {key}" in said


def test_one_connection_serves_twenty_calls(line: Wire) -> None:
    for _ in range(20):
        line.ask()
    assert len({request.connection for request in line.server.requests}) == 1


def test_an_answer_does_not_wait_for_the_end_of_its_response(server: WireServer) -> None:
    """Some servers keep a response open after `[DONE]`; without a bound the call would wait for its idle time-out."""
    line = Wire(server, "openai-completions")
    server.script.append(Reply("all of it", then="hang"))
    begun = time.monotonic()
    assert text_of(line.ask()) == "all of it"
    assert time.monotonic() - begun < line.endpoint.idle_seconds / 10
    assert eventually(lambda: server.went_away, within=AT_ONCE), "a connection with half a response was kept"
    line.ask()
    assert len({request.connection for request in server.requests}) == 2


class Endless(httpx2.SyncByteStream):
    """A body without an end, which counts what is read of it."""

    def __init__(self) -> None:
        self.chunks = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        while not self.closed:
            self.chunks += 1
            yield bytes(1024)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("stopped", [False, True])
def test_closing_a_response_reads_no_more_than_a_short_rest(stopped: bool) -> None:
    body, cancel = Endless(), Cancel()
    transport = ReusingTransport(httpx2.MockTransport(lambda _: httpx2.Response(200, stream=body)))
    client = httpx2.Client(transport=transport)
    with interruptible_by(cancel), client.stream("POST", "http://model.test/") as response:
        chunks = response.iter_raw()
        next(chunks)
        if stopped:
            cancel.set(TurnAborted("stopped"))
    assert body.closed
    assert body.chunks == (1 if stopped else 1 + REST_BYTES // 1024 + 1)
