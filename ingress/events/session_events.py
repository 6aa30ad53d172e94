"""One reader for all watched sessions of this process: one connection to Redis, however many viewers there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from ingress.events.viewer import Shown, Viewer
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.store.client import store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.reader import parse_event

log = structlog.get_logger(__name__)

BLOCK_MS = 5000
SHORT_BLOCK_MS = 100
"""Used where our Redis user may not unblock its own reader, so that a new session waits this long to be read."""
PAGE = 500
RETRY_SECONDS = 0.5
KICK_AGAIN_SECONDS = 0.005
PAUSE_PER_STREAM_SECONDS = 20e-6
LONGEST_PAUSE_SECONDS = 0.02
"""A read that names many sessions costs Redis more. A short pause lets their events come together."""

Position = tuple[int, int]
NOTHING: Position = (1 << 64, 0)
"""After every event."""


class Stream:
    """A session that somebody watches."""

    def __init__(self, session: SessionKey, position: str) -> None:
        self.session = session
        self.position = position
        """The last event that was read."""
        self.viewers: dict[Viewer, Position] = {}
        """Each with the last event that it must not get again."""

    def pass_on(self, event: Event, size: int) -> None:
        shown, at = Shown(self.session, event, size), position_of(event.id)
        for viewer, known in self.viewers.items():
            if at > known:
                viewer.put(shown)


class Hub:
    def __init__(self, reading: Redis, commands: Redis, keys: Keys) -> None:
        """`reading` is used by the reader alone; its socket time-out is longer than `BLOCK_MS`."""
        self._reading = reading
        self._commands = commands
        self._keys = keys
        self._streams: dict[str, Stream] = {}
        self._asked: dict[str, str] = {}
        """The streams of the read that is under way, and the position of each in it."""
        self._changed = asyncio.Event()
        self._client_id = 0
        self._block_ms = BLOCK_MS
        self._kick: asyncio.Task[None] | None = None
        self._is_closed = False

    @asynccontextmanager
    async def watch(self, session: SessionKey, after: str) -> AsyncIterator[Viewer]:
        """A viewer of a session's events after an id.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        key = self._keys.events(session)
        viewer = Viewer()
        stream = self._streams.get(key)
        try:
            if stream is None:
                # Before any await, so that two viewers who come together share one stream.
                stream = self._streams[key] = Stream(session, after)
                stream.viewers[viewer] = position_of(after)
                self._wake_reader()
            elif position_of(stream.position) > position_of(after):
                await self._catch_up(stream, viewer, key, after)
            else:
                stream.viewers[viewer] = position_of(after)
            if self._is_closed:
                viewer.end()
            yield viewer
        finally:
            if stream is not None:
                stream.viewers.pop(viewer, None)
                # Another viewer may have opened a new stream of the session meanwhile.
                if not stream.viewers and self._streams.get(key) is stream:
                    del self._streams[key]

    async def last_id(self, session: SessionKey) -> str:
        with store_errors():
            last: Any = await self._commands.xrevrange(self._keys.events(session), count=1)
        return str(last[0][0]) if last else "0"

    async def has_forgotten(self, session: SessionKey, after: str) -> bool:
        """Whether events that came after an id are gone from the stream."""
        with store_errors():
            first: Any = await self._commands.xrange(self._keys.events(session), count=1)
        return bool(first) and position_of(str(first[0][0])) > position_of(after) > (0, 0)

    async def run(self) -> None:
        """Read until it is cancelled. When Redis fails, go on where the last read ended."""
        is_away = False
        while True:
            try:
                await self._read()
                is_away = False
            except (RedisError, OSError) as error:
                if not is_away:
                    log.warning("events.interrupted", error=str(error))
                # A new connection has another client id, and unblocking the old one would hit somebody else or
                # nobody.
                is_away, self._client_id, self._asked = True, 0, {}
                with suppress(RedisError, OSError):
                    await self._reading.connection_pool.disconnect()
                await asyncio.sleep(RETRY_SECONDS)

    def close(self) -> None:
        """End every viewer, because the process ends."""
        self._is_closed = True
        for stream in self._streams.values():
            for viewer in stream.viewers:
                viewer.end()

    @property
    def is_closed(self) -> bool:
        """The process ends."""
        return self._is_closed

    @property
    def watched(self) -> int:
        return len(self._streams)

    async def _read(self) -> None:
        if not self._streams:
            self._changed.clear()
            await self._changed.wait()
            return
        if not self._client_id:
            self._client_id = int(await self._reading.client_id())
        asked: Any = {key: stream.position for key, stream in self._streams.items()}
        self._asked = asked
        try:
            reply: Any = await self._reading.xread(asked, count=PAGE, block=self._block_ms)
        finally:
            self._asked = {}
        for key, items in reply or []:
            stream = self._streams.get(str(key))
            # It may have been left meanwhile, and watched again from an earlier place.
            if stream is not None and stream.position == asked[str(key)]:
                _pass_on(stream, items)
        await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, PAUSE_PER_STREAM_SECONDS * len(self._streams)))

    async def _catch_up(self, stream: Stream, viewer: Viewer, key: str, after: str) -> None:
        """Give a viewer what the reader has read already."""
        stream.viewers[viewer] = NOTHING  # what comes meanwhile is read here
        while not viewer.is_over:
            with store_errors():
                items: Any = await self._commands.xrange(key, min=f"({after}", count=PAGE)
            for event_id, fields in items:
                after = str(event_id)
                if (event := _readable(after, fields)) is not None:
                    viewer.put(Shown(stream.session, event, len(fields["data"])))
            # The reader may have moved on while this was read. Only when both stand at the same place may it take
            # over.
            if not items or position_of(stream.position) <= position_of(after):
                break
        stream.viewers[viewer] = position_of(after)

    def _wake_reader(self) -> None:
        self._changed.set()
        if self._asked and (self._kick is None or self._kick.done()):
            self._kick = asyncio.create_task(self._unblock())

    async def _unblock(self) -> None:
        """Have the reader ask again, also for the sessions that were added. Its read may not have begun to block."""
        while self._asked and any(self._asked.get(key) != each.position for key, each in self._streams.items()):
            try:
                if await self._commands.client_unblock(self._client_id):
                    return
            except RedisError as error:
                log.info("events.polling", error=str(error))
                self._block_ms = SHORT_BLOCK_MS
                return
            await asyncio.sleep(KICK_AGAIN_SECONDS)


def position_of(event_id: str) -> Position:
    """An event id in a form that can be compared; text that is none counts as the beginning."""
    milliseconds, _, number = event_id.partition("-")
    try:
        return int(milliseconds), int(number or 0)
    except ValueError:
        return 0, 0


def _pass_on(stream: Stream, items: list[tuple[str, dict[str, str]]]) -> None:
    for event_id, fields in items:
        stream.position = str(event_id)
        if (event := _readable(stream.position, fields)) is not None:
            stream.pass_on(event, len(fields["data"]))


def _readable(event_id: str, fields: dict[str, str]) -> Event | None:
    """An event; None if it is damaged, which viewers notice by the missing sequence number."""
    try:
        return parse_event(event_id, fields)
    except (KeyError, ValueError, RecursionError):
        return None
