"""Scripts on a thread's own connection, and a server that does not answer."""

from __future__ import annotations

import gc
import time
from weakref import ref

import pytest

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.store.connection import Client, connect, run_script
from openclaw_workers.store.keys import Keys
from tests.support.redis_server import RedisServer

LIMIT_SECONDS = 0.4


def ask(client: Client) -> list[object]:
    return run_script(client, "patch_row", [Keys("t").row(SessionKey("agent:main:x"))], ["{}"])


def test_a_script_waits_for_a_frozen_server_no_longer_than_its_limit_and_works_again_after() -> None:
    with RedisServer() as server:
        client = connect(server.url, timeout_seconds=LIMIT_SECONDS)
        first = ask(client)
        server.stop()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="too long"):
            ask(client)
        took = time.monotonic() - began
        server.cont()

        assert LIMIT_SECONDS * 0.9 < took < LIMIT_SECONDS + 5
        assert ask(client) == first


def test_a_server_that_was_restarted_meanwhile_is_not_noticed() -> None:
    with RedisServer() as server:
        client = connect(server.url)
        first = ask(client)
        server.restart()

        assert ask(client) == first


def test_a_client_that_is_not_used_any_more_leaves_no_connection_behind() -> None:
    with RedisServer() as server:
        client = connect(server.url)
        ask(client)
        pool = ref(client.connection_pool)

        del client
        gc.collect()

        assert pool() is None
