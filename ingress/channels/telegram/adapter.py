"""One Telegram bot behind the contract of channel adapters."""

from __future__ import annotations

from starlette.routing import BaseRoute

from ingress.channels.activity import Activity, ActivityTimes
from ingress.channels.adapter import Capabilities, Part, SendLater, SendRefused, SentPart
from ingress.channels.adapter_context import AdapterContext
from ingress.channels.telegram.client import TELEGRAM, Target, TelegramClient
from ingress.channels.telegram.failures import ChatUnavailable
from ingress.channels.telegram.normalise import CHANNEL, GENERAL_TOPIC
from ingress.channels.telegram.receiver import TelegramReceiver
from ingress.channels.telegram.render import render
from ingress.channels.telegram.split import MAX_TEXT
from ingress.channels.topics import Topics, is_wanted
from openclaw_workers.clock import now_ms
from openclaw_workers.config.channels import TelegramAccountSettings
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.store.channels import ChannelAccount

TOPIC_SECONDS = 1.0


class TelegramAdapter:
    """Receives and sends for one bot."""

    channel = CHANNEL

    def __init__(self, account_id: str, settings: TelegramAccountSettings, given: AdapterContext) -> None:
        assert settings.bot_token is not None
        self.account_id = account_id
        self._account = account = ChannelAccount(CHANNEL, account_id)
        self._settings = settings
        self._channels = given.channels
        self._call = given.call
        self._client = TelegramClient(settings.bot_token.get_secret_value(), str(settings.api_root or TELEGRAM))
        topics = Topics(
            self, account, channels=given.channels, outbox=given.outbox, reader=given.reader, call=given.call
        )
        activity = Activity(self, account, given, streaming=settings.streaming, times=ActivityTimes())
        self._receiver = TelegramReceiver(
            account_id,
            settings,
            self._client,
            given,
            capabilities=self.capabilities.names(),
            beside=(topics.run, activity.run),
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
        webhook = self._receiver.webhook
        return [webhook.route()] if webhook else []

    async def run(self) -> None:
        await self._receiver.run()

    def render(self, message: OutgoingMessage) -> list[Part]:
        return render(message, rich=self._settings.rich_messages)

    async def send(self, route: Route, part: Part) -> SentPart:
        try:
            return SentPart(await self._client.send(await self._target(route), part))
        except ChatUnavailable as error:
            note = {"at": now_ms(), "reason": error.reason}
            # Noted, so that nothing more is put into the outbox for a chat that does not take it.
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


def _chat(route: Route) -> int | str:
    if route.to.removeprefix("-").isdecimal():
        return int(route.to)
    if route.to.startswith("@"):
        return route.to
    raise SendRefused(f"{route.to!r} is not a chat of Telegram; expected a number or @name", permanent=True)
