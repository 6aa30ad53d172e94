"""Following a conversation on the shared reader: no connection of its own, and no thread."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from redis.asyncio import Redis

from ingress.events.session_events import Hub
from ingress.events.viewer import Viewer
from openclaw_workers.client.aio import AsyncReader
from openclaw_workers.client.deadline import WaitOver
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.store.keys import Keys


class HubReader(AsyncReader):
    """Carries out the reads of one conversation. Events come from the hub, records from Redis.

    async with HubReader(...) as reader:
        async for update in reader.follow(conversation.steps()): ...
    """

    def __init__(self, hub: Hub, redis: Redis, keys: Keys, *, timeout_seconds: float) -> None:
        super().__init__(redis, keys, timeout_seconds=timeout_seconds)
        self._hub = hub
        self._stack = AsyncExitStack()
        self._viewer: Viewer | None = None
        self._at = ("", "")
        """The session that is watched, and the last event that was passed on."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _events(self, session: SessionKey, after: str, block_ms: int) -> list[Event]:
        if self._hub.is_closed:
            raise WaitOver("this ingress is stopping; the run continues", hint="ask again to see the answer")
        if self._viewer is None or self._viewer.is_over or self._at != (session, after):
            await self._stack.aclose()
            self._viewer = await self._stack.enter_async_context(self._hub.watch(session, after))
        found = [shown.event for shown in await self._viewer.take(block_ms / 1000)]
        self._at = (session, found[-1].id if found else after)
        return found
