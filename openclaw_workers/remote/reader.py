"""Carries a conversation's requests out over HTTP. Events come from one stream that is opened again if it breaks."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from openclaw_workers.client.aio import AsyncFollower
from openclaw_workers.client.protocol import (
    ReadBatches,
    ReadChildren,
    ReadEvents,
    ReadLastEventId,
    ReadOpenBatches,
    ReadReceipt,
    ReadRun,
    ReadState,
    ReadWorkers,
    Request,
    Sleep,
)
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import BatchId, SessionKey
from openclaw_workers.errors import NotFound, OpenClawError
from openclaw_workers.remote.address import path_of, unreachable
from openclaw_workers.remote.records import batch_of, event_of, receipt_of, run_of, state_of, worker_of
from openclaw_workers.remote.transport import AsyncTransport

GONE_SECONDS = 0.5


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

    async def _read(self, request: Request[Any]) -> Any:  # noqa: PLR0911  # one return for each request
        match request:
            case ReadEvents(session, after, block_ms):
                return await self._events(session, after, block_ms / 1000)
            case ReadLastEventId(session):
                return (await self._progress(session))["lastEventId"]
            case ReadReceipt(session, message):
                found = (await self._progress(session, message=message))["receipt"]
                return receipt_of(found) if found else None
            case ReadRun(run):
                return await self._run(run)
            case ReadState(session):
                return state_of(await self._progress(session))
            case ReadWorkers():
                status = await self._get("/status")
                return [worker_of(each) for each in status["workers"]]
            case ReadChildren(session):
                return [run_of(each) for each in (await self._progress(session, children=True))["children"]]
            case ReadOpenBatches(session):
                return [BatchId(each) for each in (await self._progress(session))["openBatches"]]
            case ReadBatches(ids):
                return await self._batches(sorted(ids))
            case Sleep(seconds):
                return await asyncio.sleep(seconds)
        raise AssertionError(f"no reader for {request}")

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

    async def _run(self, run: str) -> Any:
        try:
            return run_of(await self._get(path_of("runs", run)))
        except NotFound:
            return None

    async def _batches(self, ids: list[BatchId]) -> Any:
        if not ids:
            return {}
        found = (await self._get("/batches", ids=",".join(ids)))["batches"]
        return {batch.id: batch for batch in map(batch_of, found)}

    async def _progress(self, session: SessionKey, **query: Any) -> Any:
        return await self._get(path_of("sessions", session, "progress"), **query)

    async def _get(self, path: str, **query: Any) -> Any:
        return await self._transport.request("GET", path, query=query)


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
        if isinstance(found[-1], OpenClawError):
            self._waiting.put_nowait(found[-1])
        self._after = events[-1].id
        return events

    async def close(self) -> None:
        self._task.cancel()
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
