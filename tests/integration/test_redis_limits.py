"""With Redis full, read-only or slow, accept fails in time, and no accepted message is lost."""

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
    """A port that forwards everything and delays each answer."""
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


def test_a_full_redis_refuses_new_work_and_finishes_the_old(bare_fleet: Fleet) -> None:
    held = bare_fleet.send(program(say("kept")))
    client = bare_fleet.stores.redis
    client.config_set("maxmemory", 1)

    with pytest.raises(StoreUnavailable, match="cannot take new work"):
        bare_fleet.send(program(say("too much")))

    client.config_set("maxmemory", 0)
    bare_fleet.worker()
    assert bare_fleet.outcome(held).text == "kept"


def test_a_read_only_replica_is_unavailable_not_corrupt(bare_fleet: Fleet) -> None:
    with RedisServer() as primary:
        bare_fleet.stores.redis.replicaof("127.0.0.1", primary.port)
        # It first answers LOADING or drops its data while it syncs; after that it is read-only.
        eventually(lambda: bare_fleet.stores.redis.info("replication")["master_link_status"] == "up", within=20)

        with pytest.raises(StoreUnavailable):
            bare_fleet.send(program(say("hello")))
        assert bare_fleet.stores.reader.quarantined() == []


def test_accept_on_a_slow_redis_returns_within_three_seconds(bare_fleet: Fleet) -> None:
    with slow_proxy(bare_fleet.redis_server.port, seconds=1.5) as port:
        stores = open_stores(bare_fleet.settings, f"redis://127.0.0.1:{port}/0")
        intake = intake_of(stores, bare_fleet.waker)
        begun = time.monotonic()

        with pytest.raises(StoreUnavailable, match="did not answer within"):
            intake.accept("hello", session=session_key("slow"), route=ROUTE)

        assert time.monotonic() - begun < 3
