"""Threads for sub-agents that stay. The session waits under a name of its own until the channel has created one."""

from __future__ import annotations

import asyncio

import structlog

from ingress.channels.account_lease import Call
from ingress.channels.adapter import CreatesTopics, SendLater, SendRefused
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.engine.routing.thread_bindings import WANTED_THREAD
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Channels, WantedThread
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.reader import Reader

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
REFUSED_SECONDS = 5.0
ATTEMPTS = 2
"""A topic that may or may not have been created is created once more: an empty one does no harm."""


def is_wanted(route: Route) -> bool:
    """Whether a route leads into a thread that does not exist yet."""
    return route.thread_id.startswith(WANTED_THREAD)


class Topics:
    """Creates the threads that sessions of one account wait for. Replies wait in the outbox meanwhile."""

    def __init__(
        self,
        adapter: CreatesTopics,
        account: ChannelAccount,
        *,
        channels: Channels,
        outbox: Outbox,
        reader: Reader,
        call: Call,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._adapter = adapter
        self._account = account
        self._channels = channels
        self._outbox = outbox
        self._reader = reader
        self._call = call
        self._look_seconds = look_seconds
        self._paused: dict[str, float] = {}

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                for wanted in await self._call(self._channels.wanted_threads, self._account, WANTED_THREAD):
                    if loop.time() >= self._paused.get(wanted.session, 0.0):
                        await self._create(wanted)
            except StoreUnavailable as error:
                log.info("topics.waiting", account=self._account.name, error=error.message)
            await asyncio.sleep(self._look_seconds)

    async def _create(self, wanted: WantedThread) -> None:
        # Counted before the call, so that a process that dies in between has used an attempt.
        attempt = await self._call(self._channels.count_attempt, wanted.route)
        if attempt > ATTEMPTS:
            await self._fail(wanted, "it is not known whether it was created")
            return
        row = await self._call(self._reader.row, wanted.session)
        try:
            thread = await self._adapter.create_topic(wanted.route, row.get("label") or "Sub-agent")
        except SendLater as error:
            await self._pause(wanted, error.seconds)
        except SendRefused as error:
            if error.permanent:
                await self._fail(wanted, error.reason)
            else:
                await self._pause(wanted, REFUSED_SECONDS)
        except Exception as error:  # noqa: BLE001 - the next attempt counts
            log.warning("topic.unknown", session=wanted.session, error=repr(error))
        else:
            created = wanted.route.model_copy(update={"thread_id": thread})
            await self._call(self._channels.bind_thread, wanted, created)
            log.info("topic.created", session=wanted.session, thread=thread)

    async def _pause(self, wanted: WantedThread, seconds: float) -> None:
        """Nothing was created, so this attempt does not count."""
        await self._call(self._channels.forget_attempt, wanted.route)
        self._paused[wanted.session] = asyncio.get_running_loop().time() + seconds

    async def _fail(self, wanted: WantedThread, reason: str) -> None:
        """The child answers in its parent's chat, with a notice that says why."""
        row = await self._call(self._reader.row, wanted.session)
        parent = await self._call(self._reader.row, row.get("spawnedBy", ""))
        thread = "" if parent.get("lastThreadId", "").startswith(WANTED_THREAD) else parent.get("lastThreadId", "")
        name = row.get("label") or "the sub-agent"
        notice = OutgoingMessage(
            id=f"topic-{wanted.route.thread_id}-{wanted.session}",
            kind=OutgoingKind.NOTICE,
            route=wanted.route.model_copy(update={"thread_id": thread}),
            session_key=wanted.session,
            text=f"No topic could be created for {name} ({reason}). It answers here.",
        )
        await self._call(self._outbox.put, notice)
        await self._call(self._channels.bind_thread, wanted, None, otherwise=thread)
        log.warning("topic.failed", session=wanted.session, reason=reason)
