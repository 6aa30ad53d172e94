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

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api
from openclaw_workers.errors import TurnAborted
from tests.component.providers.wire_conversation import APIS, Wire
from tests.support.waiting import eventually
from tests.support.wire import Hang, Reply, WireServer

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
        with stopped_while(waits_in("connect_tcp", "providers/http/interruptible.py"), cancel):
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


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses"])
def test_a_connection_is_used_again(server: WireServer, api: Api) -> None:
    line = Wire(server, api)
    for _ in range(3):
        line.ask()
    assert len({request.connection for request in server.requests}) == 1
