"""Connections that scripts share, and a server that does not answer."""

from __future__ import annotations

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from unittest.mock import patch
from weakref import ref

import pytest
import redis

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import StoreFull, StoreUnavailable
from openclaw_workers.store.client import Client, connect, run_script, store_errors
from openclaw_workers.store.client import write as write_single
from openclaw_workers.store.keys import Keys
from tests.support.redis_server import RedisServer
from tests.support.slow_redis import SlowProxy
from tests.support.waiting import eventually

LIMIT_SECONDS = 0.4


def ask(client: Client) -> list[object]:
    return run_script(
        client,
        "patch_row",
        keys={
            "row": Keys("t").row(SessionKey("agent:main:x")),
            "dedupe": "t:none",
            "label_prefix": "t:label:",
        },
        args={
            "session": "agent:main:x",
            "changes": "{}",
            "keep_s": 0,
        },
    )


def connections(server: RedisServer) -> int:
    with server.client() as admin:
        return sum(each["name"] == "openclaw-workers" for each in admin.client_list())


def write(client: Client) -> list[object]:
    k = Keys("t")
    return run_script(
        client,
        "due",
        keys={
            "due": k.due,
            "sweep": k.sweep,
            "waiting": k.archives_at(""),
            "stepped": k.due_before_step,
            "workers": k.workers,
        },
        args={
            "lease_ms": 1000,
            "most": 1,
            "claim_ms": 1000,
            "soon_ms": 1000,
        },
    )


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


def test_threads_that_run_no_scripts_at_the_same_time_share_a_connection() -> None:
    with RedisServer() as server:
        client = connect(server.url)
        for _ in range(5):
            thread = Thread(target=ask, args=[client])
            thread.start()
            thread.join()

        assert connections(server) == 1


def test_scripts_at_the_same_time_have_a_connection_each_and_get_their_own_answers() -> None:
    with RedisServer() as server, server.client() as admin:
        client = connect(server.url)
        there, missing = Keys("t").row(SessionKey("agent:main:there")), Keys("t").row(SessionKey("agent:main:missing"))
        admin.hset(there, "label", "x")
        asked = [there, missing] * 200
        with ThreadPoolExecutor(16) as threads:
            answers = list(
                threads.map(
                    lambda row: run_script(
                        client,
                        "patch_row",
                        keys={
                            "row": row,
                            "dedupe": "t:none",
                            "label_prefix": "t:label:",
                        },
                        args={
                            "session": "agent:main:x",
                            "changes": '{"label": "y"}',
                            "keep_s": 0,
                        },
                    ),
                    asked,
                )
            )

        assert answers == [["ok"], ["missing"]] * 200
        assert 1 <= connections(server) <= 16


def test_an_answer_that_came_too_late_is_nobody_elses() -> None:
    with RedisServer() as server, server.client() as admin:
        admin.hset(Keys("t").row(SessionKey("agent:main:x")), "label", "x")
        client = connect(server.url, timeout_seconds=LIMIT_SECONDS)
        assert ask(client) == ["ok"]
        server.stop()
        with pytest.raises(StoreUnavailable):
            ask(client)
        server.cont()

        assert run_script(
            client,
            "patch_row",
            keys={
                "row": "t:nothing",
                "dedupe": "t:none",
                "label_prefix": "t:label:",
            },
            args={
                "session": "agent:main:x",
                "changes": "{}",
                "keep_s": 0,
            },
        ) == ["missing"]


def test_the_answer_to_a_script_that_was_interrupted_is_nobody_elses() -> None:
    with RedisServer() as server, server.client() as admin:
        admin.hset(Keys("t").row(SessionKey("agent:main:x")), "label", "x")
        client = connect(server.url)
        ask(client)
        interrupted = patch.object(redis.Connection, "read_response", side_effect=KeyboardInterrupt)
        with interrupted, pytest.raises(KeyboardInterrupt):
            ask(client)

        # At once, and by a caller who trusts a connection that has just been used.
        assert run_script(
            client,
            "patch_row",
            keys={
                "row": "t:nothing",
                "dedupe": "t:none",
                "label_prefix": "t:label:",
            },
            args={
                "session": "agent:main:x",
                "changes": "{}",
                "keep_s": 0,
            },
            repeats=True,
        ) == ["missing"]


def test_a_process_that_was_forked_leaves_the_connections_of_its_parent_alone() -> None:
    with RedisServer() as server, server.client() as admin:
        client = connect(server.url)
        first = ask(client)
        made = admin.info("stats")["total_connections_received"]
        child = os.fork()
        if child == 0:
            os._exit(0 if ask(client) == first else 1)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(client) == first
        assert admin.info("stats")["total_connections_received"] == made + 1


def test_a_client_that_is_no_longer_used_leaves_no_connection_behind() -> None:
    with RedisServer() as server:
        client = connect(server.url)
        ask(client)
        pool = ref(client.connection_pool)

        del client
        gc.collect()

        assert pool() is None


def test_a_primary_that_was_demoted_is_left_for_the_one_its_address_leads_to() -> None:
    with RedisServer() as old, RedisServer() as new, SlowProxy(old) as address:
        client = connect(address.url)
        write(client)
        client.ping()  # leaves a connection in the pool
        address.lead_to(new)
        with old.client() as admin:
            admin.replicaof("127.0.0.1", new.port)
            eventually(lambda: admin.info("replication")["master_link_status"] == "up", within=20)

        with pytest.raises(StoreUnavailable):
            write(client)

        assert write(client) == [-1, 0]
        assert client.info("replication")["role"] == "master"


def test_a_server_that_may_not_write_for_a_while_is_unavailable_and_no_record_is_blamed() -> None:
    name = "min-replicas-to-write"
    with RedisServer() as server, server.client() as admin:
        client = connect(server.url)
        admin.config_set(name, "1")
        with pytest.raises(StoreUnavailable, match="cannot take writes"):
            write(client)
        with pytest.raises(StoreUnavailable, match="cannot take writes"), store_errors():
            client.hset("t", "field", "value")

        admin.config_set(name, "0")
        assert write(client) == [-1, 0]


def test_a_full_server_refuses_plain_writes_and_carries_out_scripts() -> None:
    with RedisServer() as server, server.client() as admin:
        client = connect(server.url)
        admin.config_set("maxmemory", "1")
        with pytest.raises(StoreFull, match="cannot take new work"), store_errors():
            client.hset("t", "field", "value")
        assert write(client) == [-1, 0]
        assert write_single(client, ("t", "HSET", "field", "value"), ("t", "LPUSH", "x")) == [1, None]
        assert client.hget("t", "field") == "value"


def test_a_user_who_may_touch_our_keys_alone_can_run_scripts() -> None:
    with RedisServer() as server, server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "guest", "on", ">word", "~t:*", "+@all", "-info")
        client = connect(server.url.replace("//", "//guest:word@"))
        assert write(client) == [-1, 0]


def test_a_user_who_may_not_run_scripts_learns_so() -> None:
    with RedisServer() as server, server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "guest", "on", ">word", "~*", "+@all", "-evalsha")
        client = connect(server.url.replace("//", "//guest:word@"))

        with pytest.raises(StoreUnavailable, match="permissions"):
            ask(client)
