"""Runs scripts from the event loop, over a few connections: those that are asked for together go together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import hiredis
from redis._parsers import BaseParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError

from openclaw_workers.store.client import ScriptCall, is_demoted, packed_script, store_errors

READ_BYTES = 1 << 16


@dataclass(slots=True)
class _Asked:
    call: ScriptCall
    answer: asyncio.Future[Any]
    until: float
    """When whoever asked waits no longer, by the clock of the loop."""
    packed: bytes


class Scripts:
    """Spreads scripts over connections.

    Redis reads 16 KB of each connection before it syncs its file and answers. A few scripts fill that.
    """

    def __init__(self, make_connection: Callable[[], Any], *, connections: int, timeout_seconds: float) -> None:
        self._pipelines = [ScriptPipeline(make_connection, timeout_seconds=timeout_seconds) for _ in range(connections)]

    async def run(self, call: ScriptCall) -> list[Any]:
        """As for `ScriptPipeline.run`, on the connection with the least to do."""
        return await min(self._pipelines, key=_load).run(call)

    def close(self) -> None:
        for pipeline in self._pipelines:
            pipeline.close()


def _load(pipeline: ScriptPipeline) -> int:
    return pipeline.load


class ScriptPipeline:
    def __init__(self, make_connection: Callable[[], Any], *, timeout_seconds: float) -> None:
        """`make_connection` gives one without a socket time-out, not connected yet."""
        self._make_connection = make_connection
        self._timeout_seconds = timeout_seconds
        self._connection: Any = None
        self._parser = _parser()
        self._waiting: deque[_Asked] = deque()
        self._sent: deque[_Asked] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def load(self) -> int:
        """How many scripts it has to answer."""
        return len(self._sent) + len(self._waiting)

    async def run(self, call: ScriptCall) -> list[Any]:
        """The answer of a script.

        Raises:
            StoreUnavailable: Redis did not answer in time; the script may or may not have run.
            CorruptRecord: a key holds something that the script cannot work with.
        """
        loop = asyncio.get_running_loop()
        # It is packed here, where a value that cannot be sent fails this call alone.
        packed = packed_script(call, with_text=False)
        asked = _Asked(call, loop.create_future(), loop.time() + self._timeout_seconds, packed)
        self._waiting.append(asked)
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        elif len(self._waiting) == 1:
            loop.call_soon(self._send)
        if self._timer is None:
            self._timer = loop.call_at(asked.until, self._check_time)
        with store_errors():
            return list(await asked.answer)

    def close(self) -> None:
        self._fail("the connection was closed")

    async def _serve(self) -> None:
        """Read answers until none is to come."""
        try:
            if self._connection is None or _is_lost(self._connection):
                self._connection = None
                connection = self._make_connection()
                async with asyncio.timeout(self._timeout_seconds):
                    await connection.connect()
                self._connection, self._parser = connection, _parser()
            self._send()
            while self._sent:
                await self._read()
                self._send()  # otherwise nobody would read what is sent after the last answer
        except (RedisError, OSError, hiredis.HiredisError) as error:
            self._fail(str(error))

    def _send(self) -> None:
        """Send what waits; what comes before there is a connection goes with the first."""
        if self._connection is None or not self._waiting:
            return
        self._connection._writer.writelines([each.packed for each in self._waiting])
        self._sent.extend(self._waiting)
        self._waiting.clear()

    async def _read(self) -> None:
        """The answers that are there, and at least one."""
        data = await self._connection._reader.read(READ_BYTES)
        if not data:
            raise RedisConnectionError("Redis closed the connection")
        self._parser.feed(data)
        while self._sent and (reply := self._parser.gets()) is not False:
            self._take(self._sent.popleft(), reply)

    def _take(self, asked: _Asked, reply: Any) -> None:
        if asked.answer.done():
            return  # whoever asked waits no longer
        if isinstance(reply, NoScriptError):
            asked.packed = packed_script(asked.call, with_text=True)
            self._waiting.append(asked)
        elif isinstance(reply, Exception):
            asked.answer.set_exception(reply)
        else:
            asked.answer.set_result(reply)
        if isinstance(reply, ResponseError) and is_demoted(reply):
            raise RedisConnectionError(str(reply))

    def _check_time(self) -> None:
        """Give up the calls whose time is over. The others wait on; a connection that is silent for long is closed."""
        self._timer = None
        loop = asyncio.get_running_loop()
        now, patience = loop.time(), self._timeout_seconds
        if self._sent and self._sent[0].until + patience <= now:
            self._fail(f"Redis was silent for more than {patience:g} s")
            return
        for asked in (*self._sent, *self._waiting):
            if asked.until <= now and not asked.answer.done():
                asked.answer.set_exception(RedisConnectionError(f"it took longer than {patience:g} s"))
        self._waiting = deque(each for each in self._waiting if not each.answer.done())
        times = [each.until for each in (*self._sent, *self._waiting) if not each.answer.done()]
        times += [self._sent[0].until + patience] if self._sent else []
        if times:
            self._timer = loop.call_at(min(times), self._check_time)

    def _fail(self, why: str) -> None:
        """Give up what was asked. Answers that are still to come are for nobody; the next call connects again."""
        lost, connection, serving = [*self._sent, *self._waiting], self._connection, self._serving
        self._sent.clear()
        self._waiting.clear()
        self._connection = self._serving = None
        for asked in lost:
            if not asked.answer.done():
                asked.answer.set_exception(RedisConnectionError(why))
        if serving is not None and serving is not asyncio.current_task():
            serving.cancel()  # it reads from the connection that is closed now
        if connection is not None:
            with suppress(RedisError, OSError, RuntimeError):
                connection._writer.transport.abort()


def _is_lost(connection: Any) -> bool:
    """Whether Redis has closed it while nobody asked for anything."""
    reader = connection._reader
    return bool(reader.at_eof() or reader.exception() is not None)


def _parser() -> hiredis.Reader:
    """Reads answers as the clients of the stores do: errors become those of redis-py."""
    return hiredis.Reader(encoding="utf-8", errors="replace", replyError=BaseParser.parse_error)
