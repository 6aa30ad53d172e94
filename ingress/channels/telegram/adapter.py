"""One Telegram bot behind the contract of channel adapters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from starlette.routing import BaseRoute
from telegram.error import InvalidToken, TelegramError

from ingress.channels.account_lease import AccountLease, AccountLost, Call
from ingress.channels.activity import Activity, ActivityTimes
from ingress.channels.adapter import Capabilities, Part, SendLater, SendRefused, SentPart
from ingress.channels.inbound import InboundDoor
from ingress.channels.telegram.client import TELEGRAM, ChatUnavailable, Me, Target, TelegramClient
from ingress.channels.telegram.media import MediaLoader
from ingress.channels.telegram.normalise import CHANNEL, GENERAL_TOPIC, Received, chat_of, group_of, normalise
from ingress.channels.telegram.poller import Poller, PollTimes, Unreachable
from ingress.channels.telegram.render import render
from ingress.channels.telegram.split import MAX_TEXT
from ingress.channels.telegram.webhook import Webhook
from ingress.channels.topics import Topics, is_wanted
from ingress.channels.transcription import Transcriber
from ingress.channels.updates import GATHER_SECONDS, Updates
from ingress.events.hub import Hub
from openclaw_workers.clock import now_ms
from openclaw_workers.config.channels import TelegramAccountSettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.store.channels import ChannelAccount, Channels, Claim
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.reader import Reader

log = structlog.get_logger(__name__)

TOPIC_SECONDS = 1.0
START_PAUSE_SECONDS = 5.0
UNREACHABLE_PAUSE_SECONDS = 12.0
"""Long enough for another process to take the account over."""


@dataclass(frozen=True, slots=True)
class TelegramTimes:
    """Seconds; tests use shorter ones."""

    poll: PollTimes = field(default_factory=PollTimes)
    activity: ActivityTimes = field(default_factory=ActivityTimes)
    gather: float = GATHER_SECONDS


class TelegramAdapter:
    """Receives and sends for one bot."""

    channel = CHANNEL

    def __init__(
        self,
        account_id: str,
        settings: TelegramAccountSettings,
        *,
        channels: Channels,
        outbox: Outbox,
        reader: Reader,
        hub: Hub,
        door: InboundDoor,
        call: Call,
        process: str,
        lease_seconds: float,
        commands: Sequence[tuple[str, str]],
        may_send: Callable[[SessionKey, Route], bool],
        times: TelegramTimes | None = None,
    ) -> None:
        """`process`: host and pid, for people. `commands`: the bot's menu."""
        assert settings.bot_token is not None
        times = times or TelegramTimes()
        self.account_id = account_id
        self._account = ChannelAccount(CHANNEL, account_id)
        self._settings = settings
        self._channels = channels
        self._door = door
        self._call = call
        self._commands = commands
        self._client = TelegramClient(settings.bot_token.get_secret_value(), str(settings.api_root or TELEGRAM))
        self._media = MediaLoader(
            self._client,
            max_bytes=settings.media_max_mb << 20,
            transcriber=Transcriber(settings.transcribe) if settings.transcribe else None,
        )
        self._me: Me | None = None
        self._lease = AccountLease(channels, self._account, process, call, lease_seconds=lease_seconds)
        self._updates = Updates(
            channels,
            self._account,
            call,
            self._handle,
            chat_of=chat_of,
            group_of=group_of,
            gather_seconds=times.gather,
        )
        self._poller = Poller(
            self._client, channels, self._account, call, received=self._updates.notice, times=times.poll
        )
        self._webhook = self._make_webhook()
        self._topics = Topics(self, self._account, channels=channels, outbox=outbox, reader=reader, call=call)
        self._activity = Activity(
            self,
            self._account,
            channels,
            hub,
            call,
            streaming=settings.streaming,
            may_send=may_send,
            times=times.activity,
        )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            threads=True,
            topics=True,
            edit=True,
            delete=True,
            react=True,
            buttons=True,
            files=True,
            typing=True,
            drafts=self._settings.streaming == "draft",
            max_text=MAX_TEXT,
        )

    def routes(self) -> list[BaseRoute]:
        """What this adapter serves over HTTP."""
        return [self._webhook.route()] if self._webhook else []

    # Receiving

    async def run(self) -> None:
        """Receive while this process holds the account; wait while another one does."""
        try:
            while True:
                claim = await self._lease.acquire()
                log.info("telegram.receiving", account=self.account_id)
                pause = await self._receive(claim)
                await asyncio.sleep(pause)
        finally:
            await asyncio.shield(self._lease.release())

    async def _receive(self, claim: Claim) -> float:
        """Receive until the account is lost or given away; returns how long to stay away from it."""
        pause = 0.0
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._lease.hold())
                tasks.create_task(self._serve(claim))
        except* AccountLost as lost:
            log.warning("telegram.account_lost", account=self.account_id, reason=_first(lost))
        except* Unreachable as away:
            log.warning("telegram.unreachable", account=self.account_id, error=_first(away))
            await self._lease.release()
            pause = UNREACHABLE_PAUSE_SECONDS
        return pause

    async def _serve(self, claim: Claim) -> None:
        self._me = await self._introduce()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._updates.run())
            tasks.create_task(self._topics.run())
            tasks.create_task(self._activity.run())
            if self._webhook is None:
                tasks.create_task(self._poller.run(claim, self._lease.token))

    async def _introduce(self) -> Me:
        """Learn the bot's own name, set its menu and say how updates shall come. Repeated until it works."""
        began = asyncio.get_running_loop().time()
        while True:
            try:
                me = await self._client.me()
                if self._webhook is not None:
                    await self._client.set_webhook(self._webhook.url, self._webhook.secret)
                if self._settings.command_menu:
                    await self._client.set_commands(self._commands)
            except (TelegramError, TimeoutError) as error:
                words = self._client.shown(error)
                if isinstance(error, InvalidToken):
                    words = f"Telegram does not know the token of this bot ({words}); copy it from BotFather again"
                log.warning("telegram.not_started", account=self.account_id, error=words)
                await self._note(lastError=words, lastErrorAt=str(now_ms()))
                if asyncio.get_running_loop().time() - began > UNREACHABLE_PAUSE_SECONDS:
                    raise Unreachable(words) from error
                await asyncio.sleep(START_PAUSE_SECONDS)
            else:
                how = "webhook" if self._webhook else "polling"
                await self._note(botName=me.username, address=me.address, lastError="")
                log.info("telegram.started", account=self.account_id, bot=me.address, receives=how)
                return me

    async def _handle(self, updates: Sequence[dict[str, Any]]) -> None:
        """Accept one message. Handling it again changes nothing."""
        assert self._me is not None
        await self._note_membership(updates[0])
        names = self.capabilities.names()
        received = normalise(updates, self._me, account_id=self.account_id, capabilities=names)
        if received is None or (received.is_edit and self._settings.edits == "ignore"):
            return
        if received.button:
            await self._answer_button(received)
        await self._door.accept(received.inbound, lambda: self._media.load(received.media))

    async def _answer_button(self, received: Received) -> None:
        try:
            await self._client.answer_button(received.button)
        except TelegramError as error:  # it was pressed too long ago; what it says counts all the same
            log.info("telegram.button_not_answered", account=self.account_id, error=self._client.shown(error))

    async def _note_membership(self, update: dict[str, Any]) -> None:
        """Note chats that block the bot, and forget that as soon as they write again."""
        chat = chat_of(update)
        change = update.get("my_chat_member")
        status = change.get("new_chat_member", {}).get("status") if isinstance(change, dict) else "member"
        if status in ("kicked", "left"):
            await self._call(self._channels.block, self._account, chat, {"at": now_ms(), "reason": str(status)})
        elif chat:
            await self._call(self._channels.unblock, self._account, chat)

    async def _note(self, **facts: str) -> None:
        await self._call(self._channels.note, self._account, **facts)

    # Sending

    def render(self, message: OutgoingMessage) -> list[Part]:
        return render(message, rich=self._settings.rich_messages)

    async def send(self, route: Route, part: Part) -> SentPart:
        try:
            return SentPart(await self._client.send(await self._target(route), part))
        except ChatUnavailable as error:
            note = {"at": now_ms(), "reason": error.reason}
            await self._call(self._channels.block, self._account, route.to, note)
            raise

    async def typing(self, route: Route) -> None:
        if not is_wanted(route):
            await self._client.typing(await self._target(route))

    async def edit(self, route: Route, message_id: str, part: Part) -> None:
        await self._client.edit(await self._target(route), message_id, part)

    async def delete(self, route: Route, message_id: str) -> None:
        await self._client.delete(await self._target(route), message_id)

    async def react(self, route: Route, message_id: str, emoji: str) -> None:
        await self._client.react(await self._target(route), message_id, emoji)

    async def create_topic(self, route: Route, name: str) -> str:
        return await self._client.create_topic(_chat(route), name)

    async def show_draft(self, route: Route, draft_id: int, text: str) -> bool:
        target = await self._target(route)
        if isinstance(target.chat, str) or target.chat < 0:
            return False  # only direct chats show drafts
        await self._client.draft(target, draft_id, text[-MAX_TEXT:])
        return True

    async def _target(self, route: Route) -> Target:
        """Where a route leads. A thread that is still being created holds its messages up.

        Raises:
            SendLater: the thread does not exist yet.
            SendRefused: the route is none of Telegram's.
        """
        thread: str | None = route.thread_id
        if is_wanted(route):
            thread = await self._call(self._channels.thread_created_for, route)
            if thread is None:
                raise SendLater(TOPIC_SECONDS, "its topic is being created")
        topic = int(thread) if thread and thread.isdecimal() else None
        return Target(_chat(route), None if topic == GENERAL_TOPIC else topic)

    def _make_webhook(self) -> Webhook | None:
        settings = self._settings.webhook
        if settings.url is None or settings.secret is None:
            return None
        secret = settings.secret.get_secret_value()
        return Webhook(
            str(settings.url),
            secret,
            channels=self._channels,
            account=self._account,
            call=self._call,
            received=self._updates.notice,
        )


def _first(errors: BaseException) -> str:
    """The first of errors that happened together, however deep they are nested."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return str(errors)


def _chat(route: Route) -> int | str:
    if route.to.removeprefix("-").isdecimal():
        return int(route.to)
    if route.to.startswith("@"):
        return route.to
    raise SendRefused(f"{route.to!r} is no chat of Telegram; expected a number or @name", permanent=True)
