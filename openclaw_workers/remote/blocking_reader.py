"""Carries a conversation's requests out over HTTP, one after the other. A thread reads the events."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from openclaw_workers.client.blocking_follower import BlockingFollower
from openclaw_workers.client.protocol import ReadBatches, ReadEvents, ReadRun, Request, Sleep
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import NotFound, OpenClawError
from openclaw_workers.remote.address import GONE_SECONDS, path_of, unreachable
from openclaw_workers.remote.blocking import FAILURES, BlockingTransport, EventStream
from openclaw_workers.remote.reads import read_of
from openclaw_workers.remote.records import event_of


class BlockingHttpReader(BlockingFollower):
    """Follows one conversation at a time."""

    def __init__(self, transport: BlockingTransport) -> None:
        self._transport = transport
        self._stream: _EventThread | None = None

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _read(self, request: Request[Any]) -> Any:
        match request:
            case ReadEvents(session, after, block_ms):
                return self._events(session, after, block_ms / 1000)
            case Sleep(seconds):
                return time.sleep(seconds)
            case ReadBatches(ids) if not ids:
                return {}
        read = read_of(request)
        try:
            return read.parse(self._transport.request("GET", read.path, query=read.query))
        except NotFound:
            if isinstance(request, ReadRun):
                return None
            raise

    def _events(self, session: SessionKey, after: str, seconds: float) -> list[Event]:
        try:
            # A conversation may start at another event than the one the stream is at.
            if self._stream is None or self._stream.at != (session, after):
                self.close()
                self._stream = _EventThread(self._transport, session, after)
            return self._stream.take(seconds)
        except NotFound:
            # The session is gone. How its messages ended is still on record, and is read after some silence.
            self.close()
            time.sleep(min(seconds, GONE_SECONDS))
            return []
        except OpenClawError:
            self.close()
            raise


class _EventThread:
    """Events of one session after an id, read by a thread of their own, so that waiting for one can end."""

    def __init__(self, transport: BlockingTransport, session: SessionKey, after: str) -> None:
        self._address = transport.address
        self._session = session
        self._after = after
        self._waiting: queue.SimpleQueue[Event | OpenClawError] = queue.SimpleQueue()
        self._stream = transport.events(path_of("sessions", session, "events"), after=after)
        threading.Thread(target=self._read, args=(self._stream,), name="events", daemon=True).start()

    @property
    def at(self) -> tuple[SessionKey, str]:
        """The session, and the last event that was taken."""
        return self._session, self._after

    def take(self, seconds: float) -> list[Event]:
        """What has come since the last call; waits so long for the first.

        Raises:
            OpenClawError: the stream broke off.
        """
        try:
            found = [self._waiting.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        events = [each for each in found if isinstance(each, Event)]
        if not events:
            assert isinstance(found[0], OpenClawError)
            raise found[0]
        # First the events that came before the error, and the error with the next call.
        if isinstance(found[-1], OpenClawError):
            self._waiting.put(found[-1])
        self._after = events[-1].id
        return events

    def close(self) -> None:
        self._stream.close()

    def _read(self, stream: EventStream) -> None:
        try:
            for each in stream:
                # What cannot be read, and a `gap`, show by the sequence number that is missing.
                if (event := event_of(each.id, each.event, each.data)) is not None:
                    self._waiting.put(event)
            error: Exception = ConnectionError("the stream ended")
        except (*FAILURES, ValueError, AttributeError) as caught:  # the last two: it was closed while it read
            error = caught
        self._waiting.put(unreachable(self._address, error))
