"""Calls to the Bot API. What a failure means for a message is decided here: nothing was sent, or nobody knows."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import structlog
from telegram import (
    Bot,
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    MessageEntity,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    EndPointNotFound,
    InvalidToken,
    TelegramError,
)
from telegram.request import HTTPXRequest
from telegram.warnings import PTBDeprecationWarning, PTBUserWarning

from ingress.channels.adapter import Part, SendRefused
from ingress.channels.telegram.failures import or_refused
from openclaw_workers.domain.outgoing import Button, OutgoingFile

log = structlog.get_logger(__name__)

TELEGRAM = "https://api.telegram.org"
UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
READ_SECONDS = 20.0
UPLOAD_SECONDS = 120.0
STALL_SECONDS = 5.0
"""How much longer than asked for a poll may take."""
CONNECTIONS = 32
MAX_CALLBACK_BYTES = 64
PHOTOS = ("image/jpeg", "image/png", "image/webp")

# The library wants its own method to be used, which parses all updates at once: one that it cannot parse would hold up
# all others for ever.
warnings.filterwarnings("ignore", message="Please use 'Bot.getUpdates'", category=PTBUserWarning)
# Both forms of this attribute are understood here.
warnings.filterwarnings("ignore", message=".*attribute `retry_after`", category=PTBDeprecationWarning)
# It logs addresses, and those contain the token.
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account."""

    id: int
    username: str
    has_topics: bool = False
    """Whether people may have topics in their chat with it."""

    @property
    def address(self) -> str:
        """Where people find it."""
        return f"https://t.me/{self.username}"


@dataclass(frozen=True, slots=True)
class Target:
    """A chat, or a topic of it."""

    chat: int | str
    topic: int | None = None


class TelegramClient:
    """One bot. Every method raises TelegramError as the library does, except where it says otherwise."""

    def __init__(self, token: str, api_root: str = TELEGRAM) -> None:
        root = api_root.rstrip("/")
        self._token = token
        self._requests = _request(CONNECTIONS), _request(2)
        self._bot = Bot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._requests[0],
            get_updates_request=self._requests[1],
        )

    async def close(self) -> None:
        for request in self._requests:
            await request.shutdown()

    def shown(self, error: Exception) -> str:
        """An error for people, without the token."""
        words = str(error) or type(error).__name__
        return words.replace(self._token, "<token>")

    async def me(self) -> Me:
        found = await self._bot.get_me()
        return Me(found.id, found.username or "", bool(found.has_topics_enabled))

    async def updates(self, offset: int | None, seconds: int, most: int) -> list[dict[str, Any]]:
        """Wait for updates. Asking for an offset tells Telegram to forget those before it."""
        asked = {"offset": offset, "limit": most, "timeout": seconds, "allowed_updates": list(UPDATES)}
        given = {name: value for name, value in asked.items() if value is not None}
        answer = self._bot.do_api_request("getUpdates", api_kwargs=given, read_timeout=seconds + STALL_SECONDS)
        # A connection that died in silence must not end the polling: this limit does not depend on the socket.
        return cast("list[dict[str, Any]]", await asyncio.wait_for(answer, seconds + 2 * STALL_SECONDS))

    async def set_webhook(self, url: str, secret: str) -> None:
        await self._bot.set_webhook(url, secret_token=secret, allowed_updates=UPDATES)

    async def webhook(self) -> tuple[str, int]:
        """The address of the webhook, empty if there is none, and how many updates wait at Telegram."""
        info = await self._bot.get_webhook_info()
        return info.url, info.pending_update_count

    async def delete_webhook(self) -> None:
        await self._bot.delete_webhook()

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        await self._bot.set_my_commands([BotCommand(name, words) for name, words in commands])

    async def send(self, to: Target, part: Part) -> str:
        """Send one part; returns the id of the new message.

        Raises:
            SendLater, SendRefused: nothing was sent.
            TelegramError: nobody knows.
        """
        try:
            return await or_refused(self._send(to, part))
        except ChatMigrated as moved:  # the old id takes nothing, so nothing was sent
            return await or_refused(self._send(Target(moved.new_chat_id, to.topic), part))

    async def _send(self, to: Target, part: Part) -> str:
        payload = part.payload
        common: dict[str, Any] = {
            "chat_id": to.chat,
            "message_thread_id": to.topic,
            "reply_parameters": _reply(payload.get("replyTo")),
            "reply_markup": _keyboard(payload.get("buttons")),
        }
        if part.file is not None:
            return await self._send_file(common, part.file, part.content)
        if payload.get("rich"):
            return await self._send_rich(common, payload)
        return await self._send_text(common, payload)

    async def _send_text(self, common: dict[str, Any], payload: Mapping[str, Any]) -> str:
        entities = _entities(payload.get("entities"))
        message = await self._bot.send_message(text=payload["text"], entities=entities, **common)
        return str(message.message_id)

    async def _send_rich(self, common: dict[str, Any], payload: Mapping[str, Any]) -> str:
        given = {name: value for name, value in common.items() if value is not None}
        rich = {"rich_message": {"markdown": payload["text"]}}
        try:
            sent: Any = await self._bot.do_api_request("sendRichMessage", api_kwargs={**given, **rich})
            return str(sent["message_id"])
        except (EndPointNotFound, InvalidToken, BadRequest) as error:  # an older server: nothing was sent
            log.info("telegram.rich_message_refused", error=self.shown(error))
        first, *others = payload["plain"]
        message_id = await self._send_text(common, first)
        for each in others:
            try:
                await self._send_text({**common, "reply_parameters": None}, each)
            except TelegramError as error:
                raise RuntimeError(f"only a part of the message was sent: {self.shown(error)}") from error
        return message_id

    async def _send_file(self, common: dict[str, Any], file: OutgoingFile, content: bytes) -> str:
        upload = InputFile(content, filename=file.name)
        if file.media_type in PHOTOS:
            message = await self._bot.send_photo(photo=upload, **common)
        else:
            message = await self._bot.send_document(document=upload, **common)
        return str(message.message_id)

    async def edit(self, to: Target, message_id: str, part: Part) -> None:
        """Replace the text of a message; raises as `send` does."""
        change = self._bot.edit_message_text(
            chat_id=to.chat,
            message_id=int(message_id),
            text=part.payload["text"],
            entities=_entities(part.payload.get("entities")),
            reply_markup=_keyboard(part.payload.get("buttons")),
        )
        try:
            await or_refused(change)
        except SendRefused as error:
            if "not modified" not in error.reason:
                raise

    async def delete(self, to: Target, message_id: str) -> None:
        await or_refused(self._bot.delete_message(chat_id=to.chat, message_id=int(message_id)))

    async def react(self, to: Target, message_id: str, emoji: str) -> None:
        reaction = emoji or None
        await or_refused(self._bot.set_message_reaction(to.chat, int(message_id), reaction))

    async def create_topic(self, chat: int | str, name: str) -> str:
        created = await or_refused(self._bot.create_forum_topic(chat, name[:128]))
        return str(created.message_thread_id)

    async def typing(self, to: Target) -> None:
        await or_refused(self._bot.send_chat_action(to.chat, "typing", message_thread_id=to.topic))

    async def draft(self, to: Target, draft_id: int, text: str) -> None:
        """Show a text that is being written; in direct chats only."""
        assert isinstance(to.chat, int)
        await or_refused(self._bot.send_message_draft(to.chat, draft_id, text, message_thread_id=to.topic))

    async def answer_button(self, query_id: str) -> None:
        """Tell the app that a press was received, so that it stops waiting."""
        await self._bot.answer_callback_query(query_id)

    async def download(self, file_id: str, most_bytes: int) -> bytes | None:
        """The content of a file; None if it is larger."""
        file = await self._bot.get_file(file_id)
        if (file.file_size or 0) > most_bytes:
            return None
        content = bytes(await file.download_as_bytearray(read_timeout=READ_SECONDS))
        return content if len(content) <= most_bytes else None


def _request(connections: int) -> HTTPXRequest:
    return HTTPXRequest(
        connection_pool_size=connections,
        read_timeout=READ_SECONDS,
        write_timeout=READ_SECONDS,
        connect_timeout=10.0,
        pool_timeout=10.0,
        media_write_timeout=UPLOAD_SECONDS,
    )


def _reply(message_id: str | None) -> ReplyParameters | None:
    # Whoever deleted the message meanwhile still gets the answer.
    return ReplyParameters(int(message_id), allow_sending_without_reply=True) if message_id else None


def _entities(raw: list[dict[str, Any]] | None) -> list[MessageEntity] | None:
    return [MessageEntity(**each) for each in raw] if raw else None


def _keyboard(rows: list[list[dict[str, str]]] | None) -> InlineKeyboardMarkup | None:
    if not rows:
        return None
    return InlineKeyboardMarkup([[_button(Button.model_validate(each)) for each in row] for row in rows])


def _button(button: Button) -> InlineKeyboardButton:
    if button.url:
        return InlineKeyboardButton(button.text, url=button.url)
    return InlineKeyboardButton(button.text, callback_data=button.data)
