"""Receives for one bot: under a lease, by long polling or webhook, and hands each message to the intake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import structlog
from telegram.error import InvalidToken, TelegramError

from ingress.channels.account_lease import AccountLease, AccountLost
from ingress.channels.adapter_context import AdapterContext
from ingress.channels.telegram.client import Me, TelegramClient
from ingress.channels.telegram.media import MediaLoader
from ingress.channels.telegram.menu import CommandMenu
from ingress.channels.telegram.normalise import CHANNEL, Received, chat_of, group_of, normalise
from ingress.channels.telegram.poller import Poller, PollTimes, Unreachable
from ingress.channels.telegram.webhook import Webhook
from ingress.channels.transcription import Transcriber
from ingress.channels.updates import Updates
from openclaw_workers.clock import now_ms
from openclaw_workers.config.channels import TelegramAccountSettings
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Claim

log = structlog.get_logger(__name__)

START_PAUSE_SECONDS = 5.0
UNREACHABLE_PAUSE_SECONDS = 12.0
"""Long enough for another process to take the account over."""

Task = Callable[[], Awaitable[None]]


class TelegramReceiver:
    def __init__(
        self,
        account_id: str,
        settings: TelegramAccountSettings,
        client: TelegramClient,
        given: AdapterContext,
        *,
        capabilities: tuple[str, ...],
        beside: Sequence[Task],
    ) -> None:
        """`beside`: what else runs where the bot is received."""
        self._account = ChannelAccount(CHANNEL, account_id)
        self._settings = settings
        self._client = client
        self._given = given
        self._capabilities = capabilities
        self._beside = beside
        self._me: Me | None = None
        self._media = MediaLoader(
            client,
            max_bytes=settings.media_max_mb << 20,
            transcriber=Transcriber(settings.transcribe) if settings.transcribe else None,
        )
        channels, call = given.channels, given.call
        self._lease = AccountLease(channels, self._account, given.process, call, lease_seconds=given.lease_seconds)
        self._updates = Updates(channels, self._account, call, self._handle, chat_of=chat_of, group_of=group_of)
        notice = self._updates.notice
        self._poller = Poller(client, channels, self._account, call, received=notice, times=PollTimes())
        self.webhook = self._make_webhook()
        self._menu = CommandMenu(lambda: call(given.commands, self._account), client.set_commands)

    def _make_webhook(self) -> Webhook | None:
        settings = self._settings.webhook
        if settings.url is None or settings.secret is None:
            return None
        return Webhook(
            str(settings.url),
            settings.secret.get_secret_value(),
            channels=self._given.channels,
            account=self._account,
            call=self._given.call,
            received=self._updates.notice,
        )

    async def run(self) -> None:
        """Receive while this process holds the account; wait while another one does."""
        try:
            while True:
                claim = await self._lease.acquire()
                log.info("telegram.receiving", account=self._account.account_id)
                await asyncio.sleep(await self._receive(claim))
        finally:
            # Given back on the way out, so that another process need not wait until the lease ends.
            await asyncio.shield(self._lease.release())

    async def _receive(self, claim: Claim) -> float:
        """Receive until the account is lost or given away; returns for how many seconds to stay away from it."""
        pause = 0.0
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._lease.hold())
                tasks.create_task(self._serve(claim))
        except* AccountLost as lost:
            log.warning("telegram.account_lost", account=self._account.account_id, reason=_first(lost))
        except* Unreachable as away:
            log.warning("telegram.unreachable", account=self._account.account_id, error=_first(away))
            await self._lease.release()
            pause = UNREACHABLE_PAUSE_SECONDS
        return pause

    async def _serve(self, claim: Claim) -> None:
        self._me = await self._introduce()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._updates.run())
            for each in self._beside:
                tasks.create_task(_awaited(each))
            if self._settings.command_menu:
                tasks.create_task(self._menu.keep())
            if self.webhook is None:
                tasks.create_task(self._poller.run(claim, self._lease.token))

    async def _introduce(self) -> Me:
        """Learn the bot's own name, set its menu and say how updates shall come. Repeated until it works.

        Raises:
            Unreachable: it did not work for a while.
        """
        began = _now()
        while True:
            try:
                me = await self._set_up()
            except (TelegramError, TimeoutError, StoreUnavailable) as error:
                await self._not_started(error)
                if _now() - began > UNREACHABLE_PAUSE_SECONDS:
                    raise Unreachable(self._client.shown(error)) from error
                await asyncio.sleep(START_PAUSE_SECONDS)
            else:
                how = "webhook" if self.webhook else "polling"
                await self._note(botName=me.username, address=me.address, lastError="")
                log.info("telegram.started", account=self._account.account_id, bot=me.address, receives=how)
                return me

    async def _set_up(self) -> Me:
        me = await self._client.me()
        if self.webhook is not None:
            await self._client.set_webhook(self.webhook.url, self.webhook.secret)
        if self._settings.command_menu:
            await self._menu.show()
        return me

    async def _not_started(self, error: Exception) -> None:
        words = self._client.shown(error)
        if isinstance(error, InvalidToken):
            words = f"Telegram does not know the token of this bot ({words}); copy it from BotFather again"
        log.warning("telegram.not_started", account=self._account.account_id, error=words)
        await self._note(lastError=words, lastErrorAt=str(now_ms()))

    async def _handle(self, updates: Sequence[dict[str, Any]]) -> None:
        """Accept one message. Handling it again changes nothing."""
        assert self._me is not None
        # First, because a change of membership carries no message and ends here.
        await self._note_membership(updates[0])
        received = normalise(updates, self._me, account_id=self._account.account_id, capabilities=self._capabilities)
        if received is None or (received.is_edit and self._settings.edits == "ignore"):
            return
        if received.button:
            await self._answer_button(received)
        await self._given.intake.accept(received.inbound, lambda: self._media.load(received.media))

    async def _answer_button(self, received: Received) -> None:
        try:
            await self._client.answer_button(received.button)
        except TelegramError as error:  # it was pressed too long ago; what it says counts all the same
            log.info("telegram.button_not_answered", error=self._client.shown(error))

    async def _note_membership(self, update: dict[str, Any]) -> None:
        """Note chats that block the bot, and forget that as soon as they write again."""
        chat = chat_of(update)
        change = update.get("my_chat_member")
        status = change.get("new_chat_member", {}).get("status") if isinstance(change, dict) else "member"
        channels, call = self._given.channels, self._given.call
        if status in ("kicked", "left"):
            await call(channels.block, self._account, chat, {"at": now_ms(), "reason": str(status)})
        elif chat:
            await call(channels.unblock, self._account, chat)

    async def _note(self, **facts: str) -> None:
        with suppress(StoreUnavailable):  # only people read it
            await self._given.call(self._given.channels.note, self._account, **facts)


async def _awaited(task: Task) -> None:
    await task()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _first(errors: BaseException) -> str:
    """The first of errors that happened together, however deep they are nested."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return str(errors)
