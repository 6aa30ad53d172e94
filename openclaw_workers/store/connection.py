"""The Redis client and the scripts it runs; Redis errors become StoreUnavailable here and nowhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from importlib import resources
from typing import Any, cast
from weakref import WeakKeyDictionary

import redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import MasterDownError, NoScriptError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from openclaw_workers.errors import CorruptRecord, StoreUnavailable

Client = redis.Redis

_local = threading.local()

# What a server says when it cannot write now, also from within a script, where redis-py does not tell the kinds apart.
REFUSALS = ("LOADING", "BUSY", "OOM", "maxmemory", "READONLY", "read only replica", "MASTERDOWN", "MISCONF")


def connect(url: str, *, timeout_seconds: float = 2.5, max_connections: int = 32) -> Client:
    """A client for short commands and scripts.

    It never retries by itself: a script cut off by a time-out may have run, and only its caller knows how to
    repeat it (rule 13).
    """
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        max_connections=max_connections,
        retry=Retry(NoBackoff(), 0),
        client_name="openclaw-workers",
    )


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what redis-py raises into the one error callers handle."""
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise StoreUnavailable(
            f"Redis did not answer ({error})", hint="check that Redis runs: `ocw up`, or REDIS_URL"
        ) from error
    except (OutOfMemoryError, ReadOnlyError, MasterDownError) as error:
        raise StoreUnavailable(
            f"Redis cannot take writes now ({error})", hint="check its memory limit, and that it is the primary"
        ) from error
    except ResponseError as error:
        if any(word in str(error) for word in REFUSALS):
            raise StoreUnavailable(f"Redis cannot take writes now ({error})") from error
        raise CorruptRecord("a record in Redis", str(error)) from error
    except RedisError as error:
        raise StoreUnavailable(f"Redis failed ({error})") from error


@cache
def script_source(name: str) -> tuple[str, str]:
    """A script with the shared library in front of it, and its SHA."""
    folder = resources.files("openclaw_workers.store") / "lua"
    text = (folder / "_lib.lua").read_text() + (folder / f"{name}.lua").read_text()
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


def run_script(client: Client, name: str, keys: Sequence[str], args: Sequence[Any]) -> list[Any]:
    """Run one script by name and return its tagged answer.

    Raises:
        StoreUnavailable: Redis did not answer; the script may or may not have run.
        CorruptRecord: a key holds something the script cannot work with.
    """
    text, digest = script_source(name)
    with store_errors():
        try:
            return _exchange(client, "EVALSHA", digest, keys, args)
        except NoScriptError:
            return _exchange(client, "EVAL", text, keys, args)


def _exchange(client: Client, command: str, script: str, keys: Sequence[str], args: Sequence[Any]) -> list[Any]:
    """One command on this thread's own connection.

    Client.evalsha does the same at twice the processor time: for a pool that a thread with a connection does not need,
    for retries that scripts must not have, and for measurements nobody reads.
    """
    connection = _own_connection(client)
    connection.send_command(command, script, len(keys), *keys, *args)
    return cast("list[Any]", connection.read_response())


def _own_connection(client: Client) -> Any:
    pool = client.connection_pool
    held: WeakKeyDictionary[Any, Any] = _local.__dict__.setdefault("held", WeakKeyDictionary())
    connection: Any = held.get(pool)
    if connection is None or connection.pid != os.getpid():
        connection = held[pool] = pool.connection_class(**pool.connection_kwargs)
    elif connection.is_connected and _is_stale(connection):
        connection.disconnect()
    return connection


def _is_stale(connection: Any) -> bool:
    """The server hung up, or an answer came that nobody waits for."""
    try:
        return bool(connection.can_read())
    except (RedisConnectionError, RedisTimeoutError, OSError):
        return True
