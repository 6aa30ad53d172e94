"""Handles stored updates of an account: those of one chat in their order, those of different chats side by side."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import structlog

from ingress.channels.account_lease import Call
from openclaw_workers.clock import now_ms
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Channels

log = structlog.get_logger(__name__)

Update = dict[str, Any]
Handle = Callable[[Sequence[Update]], Awaitable[None]]
"""Accepts one message, which may be several updates. Handling the same ones again must change nothing."""

LOOK_SECONDS = 0.25
"""How often a process looks for updates that another one has stored."""
GATHER_SECONDS = 1.0
"""How long after the last part of an album further parts are awaited."""
STALE_SECONDS = 5.0
ATTEMPTS = 3
RETRY_SECONDS = 0.5


class Updates:
    def __init__(
        self,
        channels: Channels,
        account: ChannelAccount,
        call: Call,
        handle: Handle,
        *,
        chat_of: Callable[[Update], str],
        group_of: Callable[[Update], str],
        gather_seconds: float = GATHER_SECONDS,
    ) -> None:
        """`chat_of`: updates with the same name are handled in order. `group_of`: parts of one message share it."""
        self._channels = channels
        self._account = account
        self._call = call
        self._handle = handle
        self._chat_of = chat_of
        self._group_of = group_of
        self._gather_seconds = gather_seconds
        self._news = asyncio.Event()
        self._known: set[int] = set()
        self._settled_at: dict[int, float] = {}
        """Updates that a look may still find, because it began before they were removed."""
        self._waiting: dict[str, deque[tuple[int, Update]]] = {}
        self._arrived = asyncio.Condition()

    def notice(self) -> None:
        """Something was stored: look now."""
        self._news.set()

    async def run(self) -> None:
        """Handle what is stored until cancelled. What was being handled then is handled again by the next call."""
        # Another process may have handled some of them while this one did not hold the account.
        self._known.clear()
        self._waiting.clear()
        async with asyncio.TaskGroup() as chats:
            while True:
                try:
                    found = await self._call(self._channels.received, self._account)
                except StoreUnavailable:
                    found = {}
                for number, raw in self._new(found).items():
                    self._known.add(number)
                    await self._sort(number, raw, chats)
                self._news.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LOOK_SECONDS)

    def _new(self, found: dict[int, str]) -> dict[int, str]:
        now = _now()
        self._settled_at = {number: at for number, at in self._settled_at.items() if now - at < STALE_SECONDS}
        return {
            number: raw for number, raw in found.items() if number not in self._known and number not in self._settled_at
        }

    async def _sort(self, number: int, raw: str, chats: asyncio.TaskGroup) -> None:
        try:
            update = json.loads(raw)
            chat = self._chat_of(update)
        # The channel chose its form, so anything may be missing in it.
        except (ValueError, AttributeError, TypeError) as error:
            await self._refuse([number], {}, error)
            return
        if chat in self._waiting:
            self._waiting[chat].append((number, update))
            async with self._arrived:
                self._arrived.notify_all()
            return
        self._waiting[chat] = deque([(number, update)])
        chats.create_task(self._serve(chat))

    async def _serve(self, chat: str) -> None:
        """Handle the updates of a chat until none is left."""
        waiting = self._waiting[chat]
        while waiting:
            numbers, updates = zip(*await self._next_message(waiting), strict=True)
            await self._settle(numbers, updates)
        del self._waiting[chat]

    async def _next_message(self, waiting: deque[tuple[int, Update]]) -> list[tuple[int, Update]]:
        group = self._group_of(waiting[0][1])
        if not group:
            return [waiting.popleft()]
        parts: list[tuple[int, Update]] = []
        while True:
            found = [each for each in waiting if self._group_of(each[1]) == group]
            for each in found:
                waiting.remove(each)
            parts += found
            # A whole period passed without another part, so the album is complete.
            if parts and not found:
                return parts
            with suppress(TimeoutError):
                async with asyncio.timeout(self._gather_seconds), self._arrived:
                    await self._arrived.wait_for(lambda: any(self._group_of(each[1]) == group for each in waiting))

    async def _settle(self, numbers: Sequence[int], updates: Sequence[Update]) -> None:
        failures = 0
        while True:
            try:
                await self._handle(updates)
                # After the message was accepted: if this process dies in between, it is handled again and found to be
                # a repeat.
                await self._call(self._channels.handled, self._account, numbers)
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001 - one update must not hold up those behind it
                failures += 1
                # Our own errors say that the message itself is wrong; trying again would give the same.
                if failures >= ATTEMPTS or isinstance(error, OpenClawError):
                    await self._refuse(numbers, updates[0], error)
                    return
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._forget(numbers)
                return

    def _forget(self, numbers: Sequence[int]) -> None:
        self._known.difference_update(numbers)
        self._settled_at.update(dict.fromkeys(numbers, _now()))

    async def _refuse(self, numbers: Sequence[int], update: Update, error: Exception) -> None:
        """Note an update that cannot be accepted, and go on."""
        why = error.message if isinstance(error, OpenClawError) else repr(error)
        note = {"at": now_ms(), "updates": list(numbers), "chat": _chat(self._chat_of, update), "reason": why[:500]}
        log.error("channel.update_refused", account=self._account.name, **{**note, "updates": str(numbers)})
        while True:
            try:
                await self._call(self._channels.refuse, self._account, numbers, note)
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._forget(numbers)
                return


def _now() -> float:
    return asyncio.get_running_loop().time()


def _chat(chat_of: Callable[[Update], str], update: Update) -> str:
    return chat_of(update) if update else ""
