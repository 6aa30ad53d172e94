"""Carries a conversation's requests out over HTTP. Events come from one stream that is opened again if it breaks."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from openclaw_workers.client.async_follower import AsyncFollower
from openclaw_workers.client.protocol import ReadBatches, ReadEvents, ReadRun, Request, Sleep
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import NotFound, OpenClawError
from openclaw_workers.remote.address import GONE_SECONDS, path_of, unreachable
from openclaw_workers.remote.reads import read_of
from openclaw_workers.remote.records import event_of
from openclaw_workers.remote.transport import AsyncTransport


class HttpReader(AsyncFollower):
    """Follows one conversation at a time. Use it with `async with`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._stream: _EventStream | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.close()
            self._stream = None

    async def _read(self, request: Request[Any]) -> Any:
        match request:
            case ReadEvents(session, after, block_ms):
                return await self._events(session, after, block_ms / 1000)
            case Sleep(seconds):
                return await asyncio.sleep(seconds)
            case ReadBatches(ids) if not ids:
                return {}
        read = read_of(request)
        try:
            return read.parse(await self._transport.request("GET", read.path, query=read.query))
        except NotFound:
            if isinstance(request, ReadRun):
                return None
            raise

    async def _events(self, session: SessionKey, after: str, seconds: float) -> list[Event]:
        if self._stream is None or self._stream.at != (session, after):
            await self.close()
            self._stream = _EventStream(self._transport, session, after)
        try:
            return await self._stream.take(seconds)
        except NotFound:
            # The session is gone. How its messages ended is still on record, and is read after some silence.
            await self.close()
            await asyncio.sleep(min(seconds, GONE_SECONDS))
            return []
        except OpenClawError:
            await self.close()
            raise


class _EventStream:
    """Events of one session after an id, read by a task of its own."""

    def __init__(self, transport: AsyncTransport, session: SessionKey, after: str) -> None:
        self._transport = transport
        self._session = session
        self._after = after
        self._waiting: asyncio.Queue[Event | OpenClawError] = asyncio.Queue()
        self._task = asyncio.create_task(self._read())

    @property
    def at(self) -> tuple[SessionKey, str]:
        """The session, and the last event that was taken."""
        return self._session, self._after

    async def take(self, seconds: float) -> list[Event]:
        """What has come since the last call; waits so long for the first.

        Raises:
            OpenClawError: the stream broke off.
        """
        try:
            async with asyncio.timeout(seconds):
                found = [await self._waiting.get()]
        except TimeoutError:
            return []
        while not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        events = [each for each in found if isinstance(each, Event)]
        if not events:
            assert isinstance(found[0], OpenClawError)
            raise found[0]
        # First the events that came before the error, and the error with the next call.
        if isinstance(found[-1], OpenClawError):
            self._waiting.put_nowait(found[-1])
        self._after = events[-1].id
        return events

    async def close(self) -> None:
        self._task.cancel()
        # Waits until the connection is returned to its pool; the cancellation itself is no error.
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        path = path_of("sessions", self._session, "events")
        try:
            async with self._transport.events(path, after=self._after) as stream:
                async for each in stream:
                    # What cannot be read, and a `gap`, show by the sequence number that is missing.
                    if (event := event_of(each.id, each.event, each.data)) is not None:
                        self._waiting.put_nowait(event)
            self._waiting.put_nowait(unreachable(self._transport.address, ConnectionError("the stream ended")))
        except OpenClawError as error:
            self._waiting.put_nowait(error)
