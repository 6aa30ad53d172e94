"""A Redis that is full, read-only or slow: accepting says so in time, and nothing that was accepted is lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from openclaw_workers.domain.messages import Route
from openclaw_workers.engine.client_graph import intake_of
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.errors import StoreUnavailable
from tests.support.fleet import Fleet, session_key
from tests.support.programs import program, say
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

ROUTE = Route(channel="test")


@contextmanager
def slow_proxy(port: int, *, seconds: float) -> Iterator[int]:
    """A port that passes everything on, each answer after a pause."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                upstream = socket.create_connection(("127.0.0.1", port))
                threading.Thread(target=pump, args=(client, upstream, 0.0), daemon=True).start()
                threading.Thread(target=pump, args=(upstream, client, seconds), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def pump(source: socket.socket, target: socket.socket, pause: float) -> None:
    try:
        while data := source.recv(65536):
            time.sleep(pause)
            target.sendall(data)
    except OSError:
        return


def test_a_full_redis_refuses_new_work_and_finishes_the_old(unstaffed: Fleet) -> None:
    held = unstaffed.send(program(say("kept")))
    client = unstaffed.stores.redis
    client.config_set("maxmemory", 1)

    with pytest.raises(StoreUnavailable, match="cannot take new work"):
        unstaffed.send(program(say("too much")))

    client.config_set("maxmemory", 0)
    unstaffed.worker()
    assert unstaffed.outcome(held).text == "kept"


def test_a_read_only_replica_is_unavailable_not_corrupt(unstaffed: Fleet) -> None:
    with RedisServer() as primary:
        unstaffed.stores.redis.replicaof("127.0.0.1", primary.port)
        # It first answers LOADING or forgets its data while it syncs; then it is plainly read-only.
        eventually(lambda: unstaffed.stores.redis.info("replication")["master_link_status"] == "up", within=20)

        with pytest.raises(StoreUnavailable):
            unstaffed.send(program(say("hello")))
        assert unstaffed.stores.reader.quarantined() == []


def test_accepting_on_a_slow_redis_answers_within_three_seconds(unstaffed: Fleet) -> None:
    with slow_proxy(unstaffed.redis_server.port, seconds=1.5) as port:
        stores = open_stores(unstaffed.settings, f"redis://127.0.0.1:{port}/0")
        intake = intake_of(stores, unstaffed.waker)
        begun = time.monotonic()

        with pytest.raises(StoreUnavailable, match="did not answer within"):
            intake.accept("hello", session=session_key("slow"), route=ROUTE)

        assert time.monotonic() - begun < 3
