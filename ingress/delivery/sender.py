"""The sender: claims routes of its adapters' accounts and sends what waits there, one message after another (rule 17).

Every ingress runs one. A route has one sender at a time, under a lease; if its ingress dies, another one goes on within
seconds. What was being sent then is marked unknown, and not sent again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import structlog

from ingress.channels.adapter import Adapter, Part
from ingress.delivery.actions import parts_of
from ingress.delivery.part_outcomes import Ended, send_part
from ingress.delivery.sending_hook import HeldBack
from openclaw_workers.domain.outgoing import OutgoingFile, OutgoingMessage
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.metrics import DELIVERIES
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.outbox_records import Account, Claim, PartOutcome

log = structlog.get_logger(__name__)

T = TypeVar("T")

LEASE_SECONDS = 5.0
MOST_ROUTES = 32
SEND_SECONDS = 120.0
"""How long a channel may take for one part; a file of 8 MB on a slow line needs a minute."""
STOP_SECONDS = 5.0
"""How long a sender that leaves waits for what it is sending."""
STORE_PAUSE_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


class Call(Protocol):
    """Runs a blocking call of a store in a thread."""

    def __call__(self, act: Callable[..., T], *args: Any, **named: Any) -> Awaitable[T]: ...


class Sender:
    def __init__(
        self,
        *,
        outbox: Outbox,
        adapters: Sequence[Adapter],
        call: Call,
        wait_for_new: Callable[[float], Awaitable[None]],
        finish: Callable[[OutgoingMessage], OutgoingMessage] = lambda message: message,
        lease_seconds: float = LEASE_SECONDS,
        send_seconds: float = SEND_SECONDS,
        most_routes: int = MOST_ROUTES,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        """`wait_for_new` returns when the outbox has new messages or the seconds are over. `finish` is a blocking call
        that adds to a message what is known only now, before it is rendered."""
        self._outbox = outbox
        self._adapters = {_account(each): each for each in adapters}
        self._call = call
        self._wait_for_new = wait_for_new
        self._finish = finish
        self._lease_seconds = lease_seconds
        self._lease_ms = int(lease_seconds * 1000)
        self._send_seconds = send_seconds
        self._most_routes = most_routes
        self._stop_seconds = stop_seconds
        self._leaving = False
        self._wanted = asyncio.Event()
        self._held: dict[tuple[str, str], Claim] = {}
        """By route and token: a route that was lost may be claimed again while its old send still goes on."""
        self._serving: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Send until cancelled; what is being sent then gets a few seconds to end."""
        self._leaving = False
        renewing = asyncio.create_task(self._renew())
        news: asyncio.Task[None] | None = None
        try:
            while True:
                wait = await self._claim()
                if news is None or news.done():
                    news = asyncio.create_task(self._news(wait))
                await self._rest(news, wait)
        finally:
            if news is not None:
                news.cancel()
            await self._leave()
            renewing.cancel()

    async def _claim(self) -> float:
        """Claim what is ready, as far as there is room; returns for how many seconds there is nothing to claim."""
        room = self._most_routes - len(self._serving)
        wait = self._lease_seconds / 2  # a route whose sender died is ready when its lease ends
        if room <= 0:
            return wait
        claimed = await self._insist(
            lambda: self._outbox.claim(list(self._adapters), lease_ms=self._lease_ms, most=room)
        )
        for claim in claimed.claims:
            self._held[_held_as(claim)] = claim
            task = asyncio.create_task(self._serve(claim))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        if claimed.more or len(claimed.claims) == room:
            return 0.0
        return min(wait, claimed.wait_ms / 1000) if claimed.wait_ms >= 0 else wait

    async def _news(self, seconds: float) -> None:
        try:
            await self._wait_for_new(seconds)
        except StoreUnavailable as error:
            log.debug("outbox.wait_failed", error=error.message)
            await asyncio.sleep(seconds)

    async def _rest(self, news: asyncio.Task[None], seconds: float) -> None:
        """Until there are new messages, a route was given back, or the time is over."""
        wanted = asyncio.create_task(self._wanted.wait())
        try:
            full = len(self._serving) >= self._most_routes
            await asyncio.wait(
                {wanted} if full else {wanted, news},
                timeout=max(seconds, 0.001),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            wanted.cancel()
            self._wanted.clear()

    async def _serve(self, claim: Claim) -> None:
        """Send the messages of one route, until none is left or the route must rest."""
        current = claim
        following: Claim | None = claim
        try:
            while following is not None:
                current = self._held[_held_as(claim)] = following
                following = await self._send_next(current)
        except Exception:
            # The lease ends, and whoever claims the route next decides what is unknown.
            log.exception("outbox.route_failed", address=claim.address, message=current.entry.id)
        finally:
            del self._held[_held_as(claim)]
            self._wanted.set()

    async def _send_next(self, claim: Claim) -> Claim | None:
        """Send the next part of a message; returns what comes after it on this route."""
        adapter, entry = self._adapters[claim.account], claim.entry
        index, rendered = entry.next_part, list[str]()
        try:
            if not claim.parts:
                rendered = await self._insist(lambda: self._render(adapter, entry.message))
            stored = claim.parts or tuple(rendered)
            part = await self._complete(claim, stored[index]) if stored else None
        # Not a fault of the message, so it must not be recorded as failed.
        except StoreUnavailable:
            raise
        except HeldBack as held:
            return await self._record(claim, index, Ended(PartOutcome.FAILED, error=f"held back: {held}"))
        except Exception as error:
            log.exception("message.render_failed", message=entry.id)
            failed = Ended(PartOutcome.FAILED, error=f"it could not be rendered: {type(error).__name__}: {error}")
            return await self._record(claim, index, failed)
        if part is None:
            return await self._record(claim, index, Ended(PartOutcome.EMPTY))
        # `sending` is written before the channel is called: if this process dies, the part becomes unknown and is not
        # repeated.
        may_send = await self._insist(lambda: self._outbox.sending(claim, index, rendered, lease_ms=self._lease_ms))
        if not may_send:
            await self._insist(lambda: self._outbox.release([claim]))
            return None
        ended = await send_part(adapter, entry.message, part, attempts=entry.attempts, seconds=self._send_seconds)
        return await self._record(claim, index, ended)

    def _render(self, adapter: Adapter, message: OutgoingMessage) -> list[str]:
        """The parts of a message as they are stored; runs in a thread, because long texts take their time."""
        return [_stored(part) for part in parts_of(adapter, self._finish(message))]

    async def _complete(self, claim: Claim, stored: str) -> Part:
        """A stored part with its key, and the bytes of its file.

        Raises:
            NotFound: the file is gone.
        """
        body = json.loads(stored)
        file = OutgoingFile.model_validate(body["file"]) if body.get("file") else None
        content = await self._insist(lambda: self._outbox.files.load(file)) if file else b""
        key = f"{claim.entry.id}/{claim.entry.next_part}"
        return Part(payload=body["payload"], file=file, key=key, content=content)

    async def _record(self, claim: Claim, index: int, ended: Ended) -> Claim | None:
        DELIVERIES.add(ended.outcome)
        level = log.info if ended.outcome is PartOutcome.SENT else log.warning
        level(f"message.{ended.outcome}", message=claim.entry.id, part=index, error=ended.error or None)
        following = await self._insist(
            lambda: self._outbox.record(
                claim,
                index,
                ended.outcome,
                lease_ms=self._lease_ms,
                message_id=ended.message_id,
                error=ended.error,
                delay_ms=ended.delay_ms,
                # A sender that leaves takes no further message of the route, so that another can claim it at once.
                goes_on=not self._leaving,
            )
        )
        # The route rests in Redis. This only wakes our own loop when the rest is over.
        if ended.delay_ms:
            asyncio.get_running_loop().call_later(ended.delay_ms / 1000, self._wanted.set)
        return following

    async def _insist(self, act: Callable[[], T]) -> T:
        """Repeat a call until Redis has answered: every script gives a repeat the first answer (rule 13)."""
        for attempt in range(10**9):
            try:
                return await self._call(act)
            except StoreUnavailable as error:
                log.warning("outbox.store_unavailable", error=error.message)
                await asyncio.sleep(STORE_PAUSE_SECONDS[min(attempt, len(STORE_PAUSE_SECONDS) - 1)])
        raise AssertionError("unreachable")

    async def _renew(self) -> None:
        """Keep the leases of routes whose send takes long. Without routes no command is sent."""
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            held = list(self._held.values())
            try:
                if held:
                    await self._call(self._outbox.renew, held, lease_ms=self._lease_ms)
            except StoreUnavailable as error:
                log.warning("outbox.renew_failed", error=error.message)

    async def _leave(self) -> None:
        self._leaving = True
        if self._serving:
            # A send that is cancelled in the middle ends as unknown, so it gets time to end first.
            await asyncio.wait(self._serving, timeout=self._stop_seconds)
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


def _held_as(claim: Claim) -> tuple[str, str]:
    return claim.address, claim.token


def _account(adapter: Adapter) -> Account:
    return Account(adapter.channel, adapter.account_id, adapter.capabilities.dedupes_sends)


def _stored(part: Part) -> str:
    """A part as it is stored; its key and its bytes are added when it is sent."""
    file = part.file.model_dump(by_alias=True) if part.file else None
    return json.dumps({"payload": dict(part.payload), "file": file}, ensure_ascii=False)
