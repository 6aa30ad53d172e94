"""Senders on threads of their own, over a real Redis, with an adapter that records what arrives."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

import pytest
import redis as redis_py
from redis.asyncio import Redis as AsyncRedis

from ingress.delivery.new_messages import NewMessages
from ingress.delivery.sender import Sender
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingFile, OutgoingKind, OutgoingMessage
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.outbox import Outbox
from tests.support.fake_adapter import FakeAdapter
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

T = TypeVar("T")

REDIS_TIMEOUT_SECONDS = 3.0


async def in_thread(act: Callable[..., T], *args: Any, **named: Any) -> T:
    return await asyncio.to_thread(partial(act, *args, **named))


@contextmanager
def sender_on_thread(url: str, keys: Keys, outbox: Outbox, *adapters: FakeAdapter, **how: Any) -> Iterator[None]:
    """Run a sender in a thread until the block ends, then let it leave."""
    started, stop = threading.Event(), list[Callable[[], object]]()

    async def main() -> None:
        async with AsyncRedis.from_url(url, decode_responses=True, socket_timeout=REDIS_TIMEOUT_SECONDS) as client:
            news = NewMessages(client, keys, timeout_seconds=REDIS_TIMEOUT_SECONDS)
            sender = Sender(outbox=outbox, adapters=adapters, call=in_thread, wait_for_new=news.wait, **how)
            task, loop = asyncio.create_task(sender.run()), asyncio.get_running_loop()
            stop.append(partial(loop.call_soon_threadsafe, task.cancel))
            started.set()
            await asyncio.gather(task, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield
    finally:
        stop[0]()
        thread.join(20)
        assert not thread.is_alive()


class Delivery:
    """An outbox, an adapter, and senders on request."""

    def __init__(self, server: RedisServer, client: redis_py.Redis, namespace: str, stack: ExitStack) -> None:
        self.redis = client
        self.keys = Keys(namespace)
        self.outbox = Outbox(client, self.keys)
        self.adapter = FakeAdapter()
        self.url = server.url
        self._stack = stack

    def start(self, *adapters: FakeAdapter, **how: Any) -> None:
        chosen = adapters or (self.adapter,)
        self._stack.enter_context(sender_on_thread(self.url, self.keys, self.outbox, *chosen, **how))

    def put(self, *texts: str, to: str = "42", account: str = "bot", files: tuple[OutgoingFile, ...] = ()) -> None:
        """Each text is also the id of its message."""
        route = Route(channel="telegram", account_id=account, to=to)
        for text in texts:
            self.outbox.put(OutgoingMessage(id=text, kind=OutgoingKind.REPLY, route=route, text=text, files=files))

    def state(self, entry_id: str) -> str:
        return self.outbox.get(entry_id)[0].state.value

    def wait_for(self, entry_id: str, state: str, *, within: float = 10) -> None:
        eventually(lambda: self.state(entry_id) == state, within=within)


@pytest.fixture
def delivery(redis_server: RedisServer, redis_client: redis_py.Redis, namespace: str) -> Iterator[Delivery]:
    with ExitStack() as stack:
        yield Delivery(redis_server, redis_client, namespace, stack)
