"""A bot that only receives: the poller and the handling of updates, without an agent behind them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
import redis as redis_py

from ingress.channels.account_lease import AccountLease, AccountLost
from ingress.channels.telegram.client import TelegramClient
from ingress.channels.telegram.normalise import chat_of, group_of
from ingress.channels.telegram.poller import Poller, PollTimes, Unreachable
from ingress.channels.updates import Updates
from openclaw_workers.store.channels import ChannelAccount, Channels
from openclaw_workers.store.keys import Keys
from tests.support.fake_telegram import TOKEN, FakeTelegram

BOT = ChannelAccount("telegram", "default")
Json = dict[str, Any]


async def call(act: Callable[..., Any], *args: Any, **named: Any) -> Any:
    return await anyio.to_thread.run_sync(lambda: act(*args, **named))


class Receiving:
    """Records what is handled, in `handled`: the updates of each message."""

    def __init__(
        self,
        telegram: FakeTelegram,
        redis: redis_py.Redis,
        namespace: str,
        *,
        handle: Callable[[Sequence[Json]], Awaitable[None]] | None = None,
        times: PollTimes | None = None,
    ) -> None:
        self.channels = Channels(redis, Keys(namespace))
        self.handled: list[list[Json]] = []
        self._handle = handle
        self._client = TelegramClient(TOKEN, telegram.url)
        self.lease = AccountLease(self.channels, BOT, "host/1", call, lease_seconds=2)
        self.updates = Updates(
            self.channels, BOT, call, self._record, chat_of=chat_of, group_of=group_of, gather_seconds=0.3
        )
        self._poller = Poller(
            self._client, self.channels, BOT, call, received=self.updates.notice, times=times or PollTimes(poll=2)
        )
        self.ended = ""
        """Why it stopped receiving by itself."""

    async def _record(self, updates: Sequence[Json]) -> None:
        if self._handle is not None:
            await self._handle(updates)
        self.handled.append(list(updates))

    @property
    def texts(self) -> list[str]:
        return [str(each[0].get("message", {}).get("text")) for each in self.handled]

    async def _run(self) -> None:
        claim = await self.lease.acquire()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.lease.hold())
                tasks.create_task(self.updates.run())
                tasks.create_task(self._poller.run(claim, self.lease.token))
        except* (AccountLost, Unreachable) as errors:
            self.ended = type(errors.exceptions[0]).__name__

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._client.close()

    async def until(self, fact: Callable[[], object], within: float = 10) -> None:
        deadline = time.monotonic() + within
        while not fact():
            assert time.monotonic() < deadline, f"still not after {within} s: {self.texts}"
            await asyncio.sleep(0.02)
