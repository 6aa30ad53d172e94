"""The Redis client and the scripts it runs; Redis errors become StoreUnavailable here and nowhere else."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast
from weakref import WeakKeyDictionary

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    MasterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from openclaw_workers.errors import CorruptRecord, StoreFull, StoreRefused, StoreUnavailable
from openclaw_workers.store import scripts

Client = redis.Redis

TIMEOUT_SECONDS = 2.0

FRESH_SECONDS = 0.25
"""A connection that answered this lately is not looked at again before a script that is repeated if it fails."""

# Threads need no lock for these: `append` and `pop` of a deque are atomic.
_all_spares: WeakKeyDictionary[Any, deque[_PooledConnection]] = WeakKeyDictionary()
"""Connections that no script uses at the moment, by the pool whose settings they share."""

# What a server says when it cannot write now, also from within a script, where redis-py does not tell the kinds apart.
DEMOTED = ("READONLY", "read only replica", "UNBLOCKED")
NOT_AUTHENTICATED = ("HELLO must be called", "Authentication required")
FULL = ("OOM", "maxmemory")
REFUSALS = (*DEMOTED, "LOADING", "BUSY", "MASTERDOWN", "MISCONF", "NOREPLICAS")


NO_NAMES: Mapping[str, Any] = MappingProxyType({})


def connect(url: str, *, timeout_seconds: float = TIMEOUT_SECONDS, max_connections: int = 32) -> Client:
    """A client for short commands and scripts.

    It never retries by itself: a script cut off by a time-out may have run, and only its caller knows how to
    repeat it (rule 13).
    """
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",  # otherwise one damaged byte fails every script that reads it
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        max_connections=max_connections,
        retry=Retry(NoBackoff(), 0),
        client_name="openclaw-workers",
        # Who we are is the client's name. redis-py's own name and version would take two round trips more for each
        # connection.
        driver_info=None,
        # For Redis Enterprise alone; it costs a command for each connection, and ties each one to its pool for ever.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what redis-py raises into the one error callers handle."""
    try:
        yield
    except AuthenticationError as error:  # redis-py calls it a failed connection
        if _says(error, NOT_AUTHENTICATED):
            raise StoreRefused(
                "Redis wants a password, and none was given", hint="set REDIS_URL to redis://:PASSWORD@HOST:PORT/0"
            ) from error
        raise StoreRefused(
            f"Redis refused the user or password ({error})", hint="check them in REDIS_URL, or in the configuration"
        ) from error
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise StoreUnavailable(
            f"Redis did not answer ({error})", hint="check that Redis runs: `ocw up`, or REDIS_URL"
        ) from error
    except OutOfMemoryError as error:
        raise StoreFull from error
    except (ReadOnlyError, MasterDownError, NoPermissionError) as error:
        raise StoreRefused(
            f"Redis cannot take writes now ({error})",
            hint="check that it is the primary, and what its user may do",
        ) from error
    except ResponseError as error:
        if _says(error, FULL):
            raise StoreFull from error
        if _says(error, REFUSALS):
            raise StoreRefused(f"Redis cannot take writes now ({error})") from error
        raise CorruptRecord("a record in Redis", str(error)) from error
    except RedisError as error:
        raise StoreUnavailable(f"Redis failed ({error})") from error


def run_script(
    client: Client,
    name: str,
    *,
    keys: Mapping[str, str] = NO_NAMES,
    args: Mapping[str, Any] = NO_NAMES,
    more_keys: Sequence[str] = (),
    more_args: Sequence[Any] = (),
    repeats: bool = False,
) -> list[Any]:
    """Run one script and return its tagged answer. Keys and arguments have the names that its header declares.

    `repeats`: the caller repeats the call until Redis has answered.

    Raises:
        TypeError: a name is missing, or the script declares no such name.
        StoreUnavailable: Redis did not answer; the script may or may not have run.
        CorruptRecord: a key holds something the script cannot work with.
    """
    return run_call(client, script_call(name, keys, args, more_keys, more_args), repeats=repeats)


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A script with its keys and arguments, to be run by whoever has a connection."""

    name: str
    keys: Sequence[str]
    args: Sequence[Any]


def script_call(
    name: str,
    keys: Mapping[str, str] = NO_NAMES,
    args: Mapping[str, Any] = NO_NAMES,
    more_keys: Sequence[str] = (),
    more_args: Sequence[Any] = (),
) -> ScriptCall:
    """Raises:
    TypeError: a name is missing, or the script declares no such name.
    """
    return ScriptCall(name, *scripts.in_order(name, keys, args, more_keys, more_args))


def run_call(client: Client, call: ScriptCall, *, repeats: bool = False) -> list[Any]:
    """Run a script; as for `run_script`."""
    with store_errors():
        try:
            return _ask(client, call, trusts=repeats)
        except ResponseError as error:
            if is_demoted(error):
                _hang_up(client)
            raise


def is_demoted(error: ResponseError) -> bool:
    """The server is no longer primary."""
    return isinstance(error, ReadOnlyError) or _says(error, DEMOTED)


def write(client: Client, *commands: tuple[str | int, ...]) -> list[Any]:
    """Carry out single commands, each given as key, name and arguments, also when Redis is full.

    Returns what each answered; None where its key holds another type than the command is for.

    Raises:
        StoreUnavailable: Redis did not answer; they may or may not have been carried out.
    """
    targets = [str(key) for key, *_ in commands]
    words = [each for _, *rest in commands for each in (len(rest), *rest)]
    answers = run_script(client, "write", more_keys=targets, more_args=words)
    # The script uses pcall, so one failed command comes back as a value among the answers.
    for answer in answers:
        if isinstance(answer, ResponseError) and not str(answer).startswith("WRONGTYPE"):
            with store_errors():
                raise answer
    return [None if isinstance(answer, ResponseError) else answer for answer in answers]


def _ask(client: Client, call: ScriptCall, *, trusts: bool) -> list[Any]:
    text, digest = scripts.script_source(call.name)
    held = _spare_connection(client, trusts=trusts)
    try:
        # Servers keep scripts in memory only. After a restart or a failover, the text has to be sent once more.
        return _exchange(held, "EVALSHA", digest, call.keys, call.args)
    except NoScriptError:
        return _exchange(held, "EVAL", text, call.keys, call.args)
    finally:
        # Also after an error: a connection that was closed connects again when it is used next.
        _spares(client).append(held)


def _says(error: RedisError, words: Sequence[str]) -> bool:
    return any(word in str(error) for word in words)


def _hang_up(client: Client) -> None:
    """The server is no longer primary. Its address may lead to the new one by now; no open connection does."""
    spares = _spares(client)
    # Spare connections do not belong to redis-py's pool, so disconnecting the pool would leave them open.
    while spares:
        with suppress(IndexError):  # another thread was faster
            spares.pop().connection.disconnect()
    client.connection_pool.disconnect(inuse_connections=False)


def _exchange(
    held: _PooledConnection, command: str, script: str, keys: Sequence[str], args: Sequence[Any]
) -> list[Any]:
    """One command on a connection that nobody else uses meanwhile.

    Client.evalsha does the same at three times the processor time. It locks and counts a pool, measures what nobody
    reads, looks at each argument, and retries, which scripts must not do.
    """
    try:
        held.connection.send_packed_command([_packed(command, script, keys, args)])
        answer = held.connection.read_response()
    except ResponseError:
        raise
    except BaseException as error:
        held.connection.disconnect()  # its answer may still come, and must not be taken for another's
        # A time limit of the kernel shows as EAGAIN, which redis-py does not take for a time-out.
        if isinstance(error.__context__, BlockingIOError):
            raise RedisTimeoutError("it took too long") from error
        raise
    held.used_at = time.monotonic()
    return cast("list[Any]", answer)


def packed_script(call: ScriptCall, *, with_text: bool) -> bytes:
    """The command that runs a script: by its digest, or, for a server that does not know it, with its text."""
    text, digest = scripts.script_source(call.name)
    return _packed("EVAL" if with_text else "EVALSHA", text if with_text else digest, call.keys, call.args)


def _packed(command: str, script: str, keys: Sequence[str], args: Sequence[Any]) -> bytes:
    # As text: hiredis ends the process where Ctrl-C comes while it makes one of a number.
    words: Any = [each if type(each) is str else _word(each) for each in (len(keys), *keys, *args)]
    packed: bytes = pack_command((command, script, *words))
    return packed


def _word(value: Any) -> Any:
    # Scripts expect flags as "1" and "0", and str(True) is "True".
    return str(int(value) if isinstance(value, bool) else value) if isinstance(value, int | float) else value


class _PooledConnection:
    """A connection, and when it last answered."""

    def __init__(self, pool: Any) -> None:
        self.connection = pool.connection_class(**pool.connection_kwargs)
        self.connection.register_connect_callback(self.let_the_kernel_wait)
        self.used_at = 0.0

    def is_fresh(self) -> bool:
        return time.monotonic() - self.used_at < FRESH_SECONDS

    def let_the_kernel_wait(self, connection: Any) -> None:
        """Have the kernel end a wait that is too long.

        Python would ask it before each read and write whether there is anything to do, and give up the interpreter to
        another thread both times. With many threads that costs more than the exchange itself.
        """
        sock, seconds = connection._sock, connection.socket_timeout
        # Plain sockets only: one with TLS reads through OpenSSL and needs Python's own time limit.
        if type(sock) is socket.socket and seconds:
            limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            sock.settimeout(None)


def _spares(client: Client) -> deque[_PooledConnection]:
    return _all_spares.setdefault(client.connection_pool, deque())


def _spare_connection(client: Client, *, trusts: bool) -> _PooledConnection:
    """The one that was used last, or a new one: a process has as many as it ever ran scripts at the same time.

    A turn holds none while it waits for a model or a tool, so that hundreds of them get by with a few.
    """
    spares = _spares(client)
    try:
        held = spares.pop()
        while held.connection.pid != os.getpid():  # made before a fork: it is the parent's
            held = spares.pop()
    except IndexError:
        return _PooledConnection(client.connection_pool)
    if held.connection.is_connected and not (trusts and held.is_fresh()) and _is_stale(held):
        held.connection.disconnect()
    return held


def _is_stale(held: _PooledConnection) -> bool:
    """The server hung up, or an answer came that nobody waits for."""
    try:
        return bool(held.connection.can_read())
    except (RedisConnectionError, RedisTimeoutError, OSError):
        return True
