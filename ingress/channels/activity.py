"""Shows in a chat that an agent is at work: typing, and a message that is edited as the work goes on."""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import structlog

from ingress.channels.activity_text import ActivityText
from ingress.channels.adapter import Adapter, Deletes, Edits, Part, SendLater, SendRefused
from ingress.channels.adapter_context import AdapterContext
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, RunningChat

log = structlog.get_logger(__name__)

Streaming = Literal["progress", "off", "draft"]

_MARKUP = re.compile(r"([\\`*_\[\]~<>#|!&-])")


@dataclass(frozen=True, slots=True)
class ActivityTimes:
    """Seconds; tests use shorter ones."""

    look: float = 1.0
    """How often running sessions are looked for."""
    typing: float = 4.0
    """Channels show it for a few seconds each time."""
    first: float = 3.0
    """A turn that takes no longer gets no progress message."""
    between: float = 3.0
    """Between two edits; channels limit them."""
    forgotten: float = 3600.0
    """After so long without an event it stops waiting."""


@runtime_checkable
class ShowsDrafts(Protocol):
    """An adapter with `Capabilities.drafts`."""

    async def show_draft(self, route: Route, draft_id: int, text: str) -> bool:
        """Show a text that is being written; False if this chat cannot."""


class Activity:
    """Accompanies the running turns of one account; it runs where the account is received."""

    def __init__(
        self,
        adapter: Adapter,
        account: ChannelAccount,
        given: AdapterContext,
        *,
        streaming: Streaming,
        times: ActivityTimes,
    ) -> None:
        self._adapter = adapter
        self._account = account
        self._channels = given.channels
        self._hub = given.hub
        self._call = given.call
        self._may_send = given.may_send
        self._streaming = streaming
        self._times = times
        self._busy: dict[SessionKey, RunningChat] = {}
        self._accompanied: set[SessionKey] = set()

    async def run(self) -> None:
        """Show what goes on until cancelled."""
        self._accompanied.clear()
        await self._clean_up()
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    self._busy = await self._call(self._channels.busy, self._account)
                except StoreUnavailable:
                    self._busy = {}
                for session in self._busy.keys() - self._accompanied:
                    self._accompanied.add(session)
                    tasks.create_task(self._accompany(session, self._busy[session]))
                await asyncio.sleep(self._times.look)

    async def _clean_up(self) -> None:
        """Remove what a process that died has left in chats."""
        try:
            for session, (route, message_id) in (await self._call(self._channels.progress, self._account)).items():
                await self._remove(session, route, message_id)
        except StoreUnavailable:
            return

    async def _accompany(self, session: SessionKey, chat: RunningChat) -> None:
        try:
            if await self._call(self._may_send, session, chat.route):
                typing = asyncio.create_task(self._type(session, chat.route))
                try:
                    await (self._until_idle(session) if self._streaming == "off" else self._follow(session, chat))
                finally:
                    typing.cancel()
        except (OpenClawError, OSError) as error:
            log.warning("activity.ended", session=session, error=str(error))
        finally:
            self._accompanied.discard(session)

    async def _until_idle(self, session: SessionKey) -> None:
        while session in self._busy:
            await asyncio.sleep(self._times.look)

    async def _type(self, session: SessionKey, route: Route) -> None:
        """Until cancelled: a session that waits for sub-agents is quiet, and types again when it goes on."""
        while True:
            try:
                chat = self._busy.get(session)
                if chat is not None and chat.is_running:
                    await self._adapter.typing(route)
            except SendRefused:
                return  # the chat takes nothing from us
            except Exception as error:  # noqa: BLE001 - it is only shown; the answer does not depend on it
                log.debug("typing.failed", session=session, error=repr(error))
            await asyncio.sleep(self._times.typing)

    async def _follow(self, session: SessionKey, chat: RunningChat) -> None:
        shown = _Shown(self._adapter, chat.route, self._times)
        words = ActivityText(details=chat.is_direct)
        loop = asyncio.get_running_loop()
        last_event = loop.time()
        try:
            async with self._hub.watch(session, f"{max(0, chat.since - 1)}-0") as viewer:
                while (session in self._busy or words.children) and not viewer.is_over:
                    events = await viewer.take(self._times.look)
                    last_event = loop.time() if events else last_event
                    if loop.time() - last_event > self._times.forgotten:
                        break
                    for each in events:
                        words.add(each.event)
                    if self._streaming == "draft" and words.draft and await shown.draft(words.draft):
                        continue
                    if await shown.update(words.text()):
                        await self._call(
                            self._channels.note_progress, self._account, session, chat.route, shown.message_id
                        )
        finally:
            if shown.message_id:
                await asyncio.shield(self._remove(session, chat.route, shown.message_id))

    async def _remove(self, session: SessionKey, route: Route, message_id: str) -> None:
        try:
            if isinstance(self._adapter, Deletes):
                await self._adapter.delete(route, message_id)
        except Exception as error:  # noqa: BLE001 - a message that stays is no reason to stop
            log.info("progress.stays", session=session, error=repr(error))
        await self._call(self._channels.forget_progress, self._account, session)


class _Shown:
    """The progress message of one session."""

    def __init__(self, adapter: Adapter, route: Route, times: ActivityTimes) -> None:
        self._adapter = adapter
        self._route = route
        self._times = times
        self._began = asyncio.get_running_loop().time()
        self._changed_at = 0.0
        self._text = ""
        self._draft = ""
        self._draft_id = secrets.randbelow(2**31 - 2) + 1
        self._is_dead = False
        self.message_id = ""

    async def update(self, text: str) -> bool:
        """Show a text, now or with a later one; True if this made a new message."""
        now = asyncio.get_running_loop().time()
        is_early = now - self._began < self._times.first or now - self._changed_at < self._times.between
        if not text or text == self._text or is_early or self._is_dead:
            return False
        self._changed_at, self._text = now, text
        try:
            return await self._show(text)
        except SendLater as error:
            self._changed_at = now + error.seconds
        except Exception as error:  # noqa: BLE001 - nobody knows whether it is there: no second one
            self._is_dead = True
            log.info("progress.failed", route=self._route.address(), error=repr(error))
        return False

    async def _show(self, text: str) -> bool:
        message = OutgoingMessage(
            id="progress", kind=OutgoingKind.PROGRESS, route=self._route, text=_MARKUP.sub(r"\\\1", text)
        )
        part: Part = self._adapter.render(message)[0]
        if self.message_id:
            if isinstance(self._adapter, Edits):
                await self._adapter.edit(self._route, self.message_id, part)
            return False
        sent = await self._adapter.send(self._route, part)
        self.message_id = sent.message_id
        return True

    async def draft(self, text: str) -> bool:
        """Show the answer as far as it is written; False where the channel or the chat cannot."""
        if not isinstance(self._adapter, ShowsDrafts) or self._is_dead:
            return False
        if text == self._draft:
            return True
        self._draft = text
        try:
            return await self._adapter.show_draft(self._route, self._draft_id, text)
        except Exception as error:  # noqa: BLE001 - it is only shown
            log.debug("draft.failed", route=self._route.address(), error=repr(error))
            return True
